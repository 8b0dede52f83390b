/** A certificate for a name that does not exist, and its key, which everybody knows: for loopback tests only. */
export const certifiedName = "keys.auspex.example"

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBYTCCAQagAwIBAgIBATAKBggqhkjOPQQDAjAeMRwwGgYDVQQDDBNrZXlzLmF1
c3BleC5leGFtcGxlMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAe
MRwwGgYDVQQDDBNrZXlzLmF1c3BleC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAEv70tAVR+JmLm+MMlg5XtEtLmk1RO1mJtVM06zvENf8fcYuWYfdfG
RiL8p8ag0h6v3JeAC4Prx7KbJ9Dgh//XHqMzMDEwHgYDVR0RBBcwFYITa2V5cy5h
dXNwZXguZXhhbXBsZTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYC
IQCYnj38WTT4Gj5jPG0qO7ws2bCvkhdPnI8hnbd1zzxySwIhAPVXkWu0BfkOK8yl
RvrhEInpeKVnqAZ7urBIoB7v3X5J
-----END CERTIFICATE-----
`

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXMGcL+VNdTCOixZO
51f4GBaIKZPFPWzH2DB/KIFA9a+hRANCAAS/vS0BVH4mYub4wyWDle0S0uaTVE7W
Ym1UzTrO8Q1/x9xi5Zh918ZGIvynxqDSHq/cl4ALg+vHspsn0OCH/9ce
-----END PRIVATE KEY-----
`
