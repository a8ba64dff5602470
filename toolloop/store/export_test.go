package store

// Rows counts the rows of both buckets of the file.
func (b *Bolt) Rows() (entries, expiries int) {
	err := b.use(func(f *boltFile) error {
		return guarded(func() error {
			tx, err := f.db.Begin(false)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			entries = tx.Bucket(bucketEntries).Stats().KeyN
			expiries = tx.Bucket(bucketExpiry).Stats().KeyN
			return nil
		})
	})
	if err != nil {
		panic(err)
	}
	return entries, expiries
}

// Bytes is what the rows are reckoned to take. No write may be under way.
func (b *Bolt) Bytes() int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.file.bytes
}

// BreakDisk makes every later write to the file fail.
func (b *Bolt) BreakDisk() { b.file.os.Close() }

// DropCache empties the read cache.
func (b *Bolt) DropCache() {
	b.cache.mu.Lock()
	defer b.cache.mu.Unlock()
	b.cache.lru.list.Purge()
}

// Commits is the number of transactions that wrote to the file.
func (b *Bolt) Commits() (n int) {
	err := b.use(func(f *boltFile) error {
		tx, err := f.db.Begin(false)
		if err != nil {
			return err
		}
		n = tx.ID()
		return tx.Rollback()
	})
	if err != nil {
		panic(err)
	}
	return n
}
