package redact

import "strings"

// entity is one kind of personal data. Its number is the index in entities.
type entity uint8

// kind describes an entity.
type kind struct {
	name    string // Presidio's
	aliases string // Google DLP's and AWS's names, separated by blanks
	// context is the words, separated by '|', that make a weak match of this
	// kind a match when they stand near it.
	context string
}

const (
	abaRouting entity = iota
	auABN
	auACN
	auMedicare
	auTFN
	caSIN
	creditCard
	crypto
	deBSNR
	deFuehrerschein
	deHandelsregister
	deHealthInsurance
	deIDCard
	deKFZ
	deLANR
	dePassport
	dePLZ
	deSocialSecurity
	deTaxID
	deTaxNumber
	deVATID
	emailAddress
	esNIE
	esNIF
	esPassport
	fiPersonalIdentityCode
	ibanCode
	inAadhaar
	inGSTIN
	inPAN
	inPassport
	inVehicle
	inVoter
	ipAddress
	itDriverLicense
	itFiscalCode
	itIdentityCard
	itPassport
	itVATCode
	krBRN
	krDriverLicense
	krFRN
	krPassport
	krRRN
	macAddress
	medicalLicense
	ngNIN
	ngVehicle
	phMobile
	phTIN
	phoneNumber
	plPESEL
	seOrganisation
	sePersonnummer
	sgNRIC
	sgUEN
	thTNIN
	trLicensePlate
	trNationalID
	trPhone
	ukDrivingLicence
	ukNHS
	ukNINO
	ukPassport
	ukPostcode
	ukVehicle
	urlEntity
	usBankNumber
	usDriverLicense
	usITIN
	usMBI
	usNPI
	usPassport
	usSSN
	zaID
	numEntities
)

const (
	plateWords    = "license plate|licence plate|number plate|plate|vehicle|registration|reg no|reg number|fahrzeug|kennzeichen"
	passportWords = "passport|travel document|passport number"
	phoneWords    = "phone|telephone|tel|mobile|cellphone|fax|whatsapp|sms|hotline|telefon|telefono|teléfono|tél|téléphone|mobil|rufnummer|handynummer|móvil|celular|numaram"
	driverWords   = "driver license|driver licence|driver's license|drivers license|driving licence|driving license|licence|license|driving|permit|dl"
)

// entities is in the order of the constants above.
var entities = [numEntities]kind{
	{"ABA_ROUTING_NUMBER", "BANK_ROUTING AMERICAN_BANKERS_CUSIP_ID US_BANK_ROUTING_MICR", "aba|routing|bankrouting|routing number|rtn|transit|bank"},
	{"AU_ABN", "", "abn|australian business number|business number"},
	{"AU_ACN", "", "acn|australian company number|company number"},
	{"AU_MEDICARE", "AUSTRALIA_MEDICARE_NUMBER", "medicare"},
	{"AU_TFN", "AUSTRALIA_TAX_FILE_NUMBER", "tfn|tax file number|tax file"},
	{"CA_SIN", "CANADA_SOCIAL_INSURANCE_NUMBER CA_SOCIAL_INSURANCE_NUMBER", "sin|social insurance|social insurance number|nas|assurance sociale|numéro d'assurance"},
	{"CREDIT_CARD", "CREDIT_CARD_NUMBER CREDIT_DEBIT_CARD_NUMBER", "card|credit|debit|visa|mastercard|amex|maestro|discover|jcb|diners|cc|karte|kreditkarte|carte|tarjeta|pan"},
	{"CRYPTO", "CRYPTO_WALLET BITCOIN_ADDRESS", "wallet|btc|bitcoin|crypto|address"},
	{"DE_BSNR", "", "bsnr|betriebsstättennummer|betriebsstätten|betriebsstaettennummer|praxisnummer|kbv|arztpraxis"},
	{"DE_FUEHRERSCHEIN", "GERMANY_DRIVERS_LICENSE_NUMBER", "führerschein|fuehrerschein|fahrerlaubnis|führerscheinnummer|driving licence|driver license"},
	{"DE_HANDELSREGISTER", "", "handelsregister|handelsregisternummer|amtsgericht|registergericht|registernummer|hrb|hra|commercial register"},
	{"DE_HEALTH_INSURANCE", "", "kvnr|krankenversicherung|krankenversichertennummer|krankenkasse|versichertennummer|health insurance|egk|gesundheitskarte"},
	{"DE_ID_CARD", "GERMANY_IDENTITY_CARD_NUMBER", "personalausweis|ausweis|ausweisnummer|id card|identity card|perso"},
	{"DE_KFZ", "", "kennzeichen|kfz|fahrzeug|nummernschild|" + plateWords},
	{"DE_LANR", "", "lanr|arztnummer|lebenslange arztnummer|vertragsarzt|arzt|physician number"},
	{"DE_PASSPORT", "GERMANY_PASSPORT", "reisepass|pass|passnummer|reisepassnummer|" + passportWords},
	{"DE_PLZ", "", "plz|postleitzahl|postal code|zip code"},
	{"DE_SOCIAL_SECURITY", "", "rentenversicherung|rentenversicherungsnummer|sozialversicherungsnummer|versicherungsnummer|svnr|rvnr|social security"},
	{"DE_TAX_ID", "GERMANY_TAXPAYER_IDENTIFICATION_NUMBER", "idnr|steuer-id|steueridentifikationsnummer|steuerliche identifikationsnummer|identifikationsnummer|steuer id|tin|tax id"},
	{"DE_TAX_NUMBER", "", "steuernummer|st.-nr|stnr|st-nr|steuernr|finanzamt|tax number"},
	{"DE_VAT_ID", "", "ust-idnr|ustidnr|umsatzsteuer|umsatzsteuer-identifikationsnummer|ust-id|vat|vat id|vat number|mwst"},
	{"EMAIL_ADDRESS", "EMAIL", ""},
	{"ES_NIE", "SPAIN_NIE_NUMBER", "nie|número de identificación de extranjero|extranjero"},
	{"ES_NIF", "SPAIN_NIF_NUMBER SPAIN_DNI_NUMBER ES_DNI", "nif|dni|documento nacional|identificación"},
	{"ES_PASSPORT", "SPAIN_PASSPORT", "pasaporte|" + passportWords},
	{"FI_PERSONAL_IDENTITY_CODE", "FINLAND_NATIONAL_ID_NUMBER", "hetu|henkilötunnus|personbeteckning|henkilö"},
	{"IBAN_CODE", "INTERNATIONAL_BANK_ACCOUNT_NUMBER", "iban|bank"},
	{"IN_AADHAAR", "INDIA_AADHAAR_INDIVIDUAL", "aadhaar|aadhar|uidai|uid"},
	{"IN_GSTIN", "INDIA_GST_INDIVIDUAL", "gstin|gst"},
	{"IN_PAN", "INDIA_PAN_INDIVIDUAL IN_PERMANENT_ACCOUNT_NUMBER", "permanent account number|pan|pan card|income tax"},
	{"IN_PASSPORT", "INDIA_PASSPORT", "indian passport|" + passportWords},
	{"IN_VEHICLE_REGISTRATION", "", "rto|vehicle number|" + plateWords},
	{"IN_VOTER", "", "voter|epic|elector photo identity card|elector|vote"},
	{"IP_ADDRESS", "", "ip|ipv4|ipv6|host|server|address|client"},
	{"IT_DRIVER_LICENSE", "ITALY_DRIVERS_LICENSE_NUMBER", "patente|patente di guida|licenza|" + driverWords},
	{"IT_FISCAL_CODE", "ITALY_FISCAL_CODE", "codice fiscale|fiscal code|cf|fiscale"},
	{"IT_IDENTITY_CARD", "ITALY_IDENTITY_CARD", "carta d'identità|carta di identità|carta identità|carta|identity card|identità|documento|cie"},
	{"IT_PASSPORT", "ITALY_PASSPORT", "passaporto|" + passportWords},
	{"IT_VAT_CODE", "", "piva|partita iva|p.iva|iva|vat|vat code"},
	{"KR_BRN", "", "brn|business registration|사업자등록번호|사업자"},
	{"KR_DRIVER_LICENSE", "KOREA_DRIVERS_LICENSE_NUMBER", "운전면허|면허|" + driverWords},
	{"KR_FRN", "KOREA_ARN", "frn|외국인등록번호|foreigner registration|alien registration|korean frn"},
	{"KR_PASSPORT", "KOREA_PASSPORT", "여권|여권번호|korean passport|" + passportWords},
	{"KR_RRN", "KOREA_RRN", "rrn|주민등록번호|주민번호|resident registration"},
	{"MAC_ADDRESS", "", "mac"},
	{"MEDICAL_LICENSE", "US_DEA_NUMBER US_MEDICAL_LICENSE", "dea|medical|certificate|license|doctor|physician|prescriber|registration"},
	{"NG_NIN", "", "nin|national identification number|national identity number|nimc|nigeria"},
	{"NG_VEHICLE_REGISTRATION", "", "frsc|plate number|" + plateWords},
	{"PH_MOBILE_NUMBER", "", "philippines|" + phoneWords},
	{"PH_TIN", "", "tin|bir|tax id|taxpayer|tax identification"},
	{"PHONE_NUMBER", "PHONE", "phone number|number|united states|call|cell|dial|contact|handy|numero|" + phoneWords},
	{"PL_PESEL", "POLAND_PESEL_NUMBER", "pesel"},
	{"SE_ORGANISATIONSNUMMER", "", "organisationsnummer|orgnr|org.nr|org nr|organisationsnr|företag|bolag|company identity|company registration|organisation number|company"},
	{"SE_PERSONNUMMER", "SWEDEN_NATIONAL_ID_NUMBER", "personnummer|pnr|samordningsnummer|personal identity|personal identity code|swedish id|id code|svenskt"},
	{"SG_NRIC_FIN", "SINGAPORE_NATIONAL_REGISTRATION_ID_NUMBER", "nric|fin|fin#|singapore"},
	{"SG_UEN", "", "uen|unique entity number|business registration|acra|singapore"},
	{"TH_TNIN", "THAILAND_NATIONAL_ID_NUMBER", "tnin|thai id|thai|thailand|national id|เลขบัตรประชาชน|บัตรประชาชน|เลขประจำตัวประชาชน"},
	{"TR_LICENSE_PLATE", "", "plaka|plakası|plakasi|araç|" + plateWords},
	{"TR_NATIONAL_ID", "TURKEY_ID_NUMBER", "tckn|tc kimlik|kimlik|turkish id|turkish|t.c.|tc no|vatandaşlık|national id"},
	{"TR_PHONE_NUMBER", "", "telefon|cep|gsm|numara|turkey|" + phoneWords},
	{"UK_DRIVING_LICENCE", "UK_DRIVERS_LICENSE_NUMBER", "dvla|" + driverWords},
	{"UK_NHS", "UK_NATIONAL_HEALTH_SERVICE_NUMBER UK_NATIONAL_HEALTH_SERVICE_NUMBER", "nhs|national health service|health number|health services|health authority"},
	{"UK_NINO", "UK_NATIONAL_INSURANCE_NUMBER", "nino|ni number|national insurance|national insurance number|insurance"},
	{"UK_PASSPORT", "", "passports|british passport|uk passport|" + passportWords},
	{"UK_POSTCODE", "", "postcode|post code|postal code|postal|zip|address"},
	{"UK_VEHICLE_REGISTRATION", "", "vrn|vrm|vehicles|" + plateWords},
	{"URL", "", ""},
	{"US_BANK_NUMBER", "BANK_ACCOUNT_NUMBER US_BANK_ACCOUNT_NUMBER", "bank|bank account|account number|account no|acct|checking account|savings|deposit"},
	{"US_DRIVER_LICENSE", "DRIVER_ID US_DRIVERS_LICENSE_NUMBER", "dmv|driver license|driver licence|driver's license|drivers license|driving license|dl|dl#|license number"},
	{"US_ITIN", "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER US_INDIVIDUAL_TAXPAYER_IDENTIFICATION_NUMBER", "itin|individual taxpayer|tax id|taxpayer id|taxid|tin"},
	{"US_MBI", "US_MEDICARE_BENEFICIARY_ID_NUMBER", "mbi|medicare|medicare id|beneficiary|cms|medicaid|hic|hicn"},
	{"US_NPI", "US_NATIONAL_PROVIDER_IDENTIFIER", "npi|national provider|provider identifier|provider|taxonomy"},
	{"US_PASSPORT", "PASSPORT_NUMBER US_PASSPORT_NUMBER PASSPORT", "us passport|travel|" + passportWords},
	{"US_SSN", "SSN US_SOCIAL_SECURITY_NUMBER", "ssn|ssns|ss#|social|social security|social security number|ssid"},
	{"ZA_ID_NUMBER", "", "south african|south african id|south africa|said|sa id|resident number|permanent resident|refugee|id number|identity number|rsa id"},
}

// entityByName finds an entity by its name or one of its aliases, in any case.
var entityByName = func() map[string]entity {
	m := map[string]entity{}
	for i, k := range entities {
		for _, a := range strings.Fields(k.aliases) {
			m[a] = entity(i)
		}
	}
	for i, k := range entities {
		m[k.name] = entity(i)
	}
	return m
}()

// Canonical is the name of an entity as spans have it, found by that name or one
// of its aliases in any case; ok is false for others, as those of secrets.
func Canonical(name string) (canonical string, ok bool) {
	k, ok := entityByName[strings.ToUpper(name)]
	if !ok {
		return "", false
	}
	return entities[k].name, true
}

// Entities lists the names of the PII entities, in alphabetical order of their
// families. Secrets have names of their own, see [Engine.Rules].
func Entities() []string {
	names := make([]string, 0, numEntities)
	for _, k := range entities {
		names = append(names, k.name)
	}
	return names
}
