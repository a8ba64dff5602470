package proxy

const seesBehindBytes = true
