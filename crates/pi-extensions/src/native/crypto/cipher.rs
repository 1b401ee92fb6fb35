//! AES: CBC, CTR, ECB and GCM, over the whole text at once.

use aes::cipher::{
    BlockDecryptMut as _, BlockEncryptMut as _, KeyIvInit as _, StreamCipher as _,
    block_padding::{NoPadding, Pkcs7},
};
use aes::{Aes128, Aes192, Aes256};
use ring::aead;
use rquickjs::Object;

use crate::error::NativeError;
use crate::value::Bytes;

/// A text to encrypt or to decrypt. In GCM the tag follows the encrypted text.
pub(super) struct Job {
    name: String,
    key: Vec<u8>,
    iv: Vec<u8>,
    data: Vec<u8>,
    additional: Vec<u8>,
    is_encryption: bool,
    is_padded: bool,
}

impl Job {
    pub(super) fn from_object(object: &Object<'_>) -> rquickjs::Result<Self> {
        let bytes = |name: &str| object.get::<_, Bytes>(name).map(|bytes| bytes.0);
        Ok(Self {
            name: object.get("name")?,
            key: bytes("key")?,
            iv: bytes("iv")?,
            data: bytes("data")?,
            additional: bytes("additional")?,
            is_encryption: object.get("isEncryption")?,
            is_padded: object.get("isPadded")?,
        })
    }

    pub(super) fn run(self) -> Result<Bytes, NativeError> {
        let unknown = || {
            NativeError::new(format!("Unknown cipher: {}", self.name))
                .with("code", "ERR_CRYPTO_UNKNOWN_CIPHER")
        };
        let mut parts = self.name.strip_prefix("aes-").ok_or_else(unknown)?.splitn(2, '-');
        let bits: usize = parts.next().and_then(|bits| bits.parse().ok()).ok_or_else(unknown)?;
        if self.key.len() * 8 != bits {
            return Err(NativeError::of("RangeError", "Invalid key length")
                .with("code", "ERR_CRYPTO_INVALID_KEYLEN"));
        }
        match (parts.next(), bits) {
            (Some("cbc"), 128) => self.cbc::<Aes128>(),
            (Some("cbc"), 192) => self.cbc::<Aes192>(),
            (Some("cbc"), 256) => self.cbc::<Aes256>(),
            (Some("ecb"), 128) => self.ecb::<Aes128>(),
            (Some("ecb"), 192) => self.ecb::<Aes192>(),
            (Some("ecb"), 256) => self.ecb::<Aes256>(),
            (Some("ctr"), 128) => self.ctr::<Aes128>(),
            (Some("ctr"), 192) => self.ctr::<Aes192>(),
            (Some("ctr"), 256) => self.ctr::<Aes256>(),
            (Some("gcm"), 128) => self.gcm(&aead::AES_128_GCM),
            (Some("gcm"), 256) => self.gcm(&aead::AES_256_GCM),
            _ => Err(unknown()),
        }
        .map(Bytes)
    }

    fn cbc<C>(self) -> Result<Vec<u8>, NativeError>
    where
        C: aes::cipher::BlockCipher
            + aes::cipher::BlockEncryptMut
            + aes::cipher::BlockDecryptMut
            + aes::cipher::KeyInit,
    {
        let iv = |_| invalid_iv();
        if self.is_encryption {
            let cipher = cbc::Encryptor::<C>::new_from_slices(&self.key, &self.iv).map_err(iv)?;
            return if self.is_padded {
                Ok(cipher.encrypt_padded_vec_mut::<Pkcs7>(&self.data))
            } else {
                whole_blocks(&self.data)?;
                Ok(cipher.encrypt_padded_vec_mut::<NoPadding>(&self.data))
            };
        }
        let cipher = cbc::Decryptor::<C>::new_from_slices(&self.key, &self.iv).map_err(iv)?;
        let plain = if self.is_padded {
            cipher.decrypt_padded_vec_mut::<Pkcs7>(&self.data)
        } else {
            cipher.decrypt_padded_vec_mut::<NoPadding>(&self.data)
        };
        plain.map_err(|_| bad_decrypt(&self.data))
    }

    fn ecb<C>(self) -> Result<Vec<u8>, NativeError>
    where
        C: aes::cipher::BlockCipher
            + aes::cipher::BlockEncryptMut
            + aes::cipher::BlockDecryptMut
            + aes::cipher::KeyInit,
    {
        let cipher = C::new_from_slice(&self.key).map_err(|_| invalid_iv())?;
        if self.is_encryption {
            return Ok(cipher.encrypt_padded_vec_mut::<Pkcs7>(&self.data));
        }
        cipher.decrypt_padded_vec_mut::<Pkcs7>(&self.data).map_err(|_| bad_decrypt(&self.data))
    }

    fn ctr<C>(mut self) -> Result<Vec<u8>, NativeError>
    where
        C: aes::cipher::BlockCipher
            + aes::cipher::BlockEncryptMut
            + aes::cipher::KeyInit
            + aes::cipher::BlockSizeUser<BlockSize = aes::cipher::consts::U16>,
    {
        let cipher = ctr::Ctr128BE::<C>::new_from_slices(&self.key, &self.iv);
        cipher.map_err(|_| invalid_iv())?.apply_keystream(&mut self.data);
        Ok(self.data)
    }

    fn gcm(mut self, algorithm: &'static aead::Algorithm) -> Result<Vec<u8>, NativeError> {
        let key = aead::UnboundKey::new(algorithm, &self.key).map_err(|_| invalid_iv())?;
        let key = aead::LessSafeKey::new(key);
        let nonce = aead::Nonce::try_assume_unique_for_key(&self.iv).map_err(|_| {
            NativeError::new("GCM with an initialization vector that is not 12 bytes long is not available in this extension host")
        })?;
        let additional = aead::Aad::from(&self.additional);
        if self.is_encryption {
            key.seal_in_place_append_tag(nonce, additional, &mut self.data)
                .map_err(|_| NativeError::new("encryption failed"))?;
            return Ok(self.data);
        }
        let plain = key.open_in_place(nonce, additional, &mut self.data);
        plain
            .map(|plain| plain.to_vec())
            .map_err(|_| NativeError::new("Unsupported state or unable to authenticate data"))
    }
}

fn invalid_iv() -> NativeError {
    NativeError::of("TypeError", "Invalid initialization vector")
        .with("code", "ERR_CRYPTO_INVALID_IV")
}

fn whole_blocks(data: &[u8]) -> Result<(), NativeError> {
    if data.len().is_multiple_of(16) {
        return Ok(());
    }
    Err(NativeError::new("error:1C80006A:Provider routines::wrong final block length")
        .with("code", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH"))
}

fn bad_decrypt(data: &[u8]) -> NativeError {
    whole_blocks(data).err().unwrap_or_else(|| {
        NativeError::new("error:1C800064:Provider routines::bad decrypt")
            .with("code", "ERR_OSSL_BAD_DECRYPT")
    })
}
