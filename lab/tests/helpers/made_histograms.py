"""A histogram whose quantiles are known."""

# Written by the Rust crate: 1000, 2000 … 1,000,000 ns once each, and 5 s seven times; bounds 1 ns to 1 h.
STAIRS = (
    "HISTFAAAAKJ4nO2NPQrCMBTHX/5RIohmcFSPILiLuHkZTyCubo7irpN4Aw/gKj1F93bq2tAESj8phRbaJr/3lX/y3ltd7wsi4ZA+3GSm"
    "yuP2+6SDpwVH4i/xmMAVeI3gc2NvIGA59mG44FziJ+wU+yjWyxsssVbEsf27xAxT5Zq4ylf7+i4wjuAmJ6mu2v7u93NQioxQROWPTcy0"
    "y+3yYSy//dg8BN/pPvA="
)
