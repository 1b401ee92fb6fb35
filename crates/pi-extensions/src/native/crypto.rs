//! Hashes, random numbers, derived keys and ciphers.

use std::cell::RefCell;
use std::rc::Rc;

use hmac::{Hmac, Mac};
use rquickjs::Object;
use sha2::Digest;

use crate::error::NativeError;
use crate::host::{Answer, Call, Natives, function};
use crate::value::Bytes;

mod cipher;

/// Largest number of random or derived bytes of one call.
const MAX_BYTES: usize = 64 << 20;

pub(super) const FUNCTIONS: Natives = &[
    ("createHash", |call| state_object(call, hasher(&call.text(0)?).ok_or_else(unknown_digest)?)),
    ("createHmac", |call| {
        let state = keyed(&call.text(0)?, &call.bytes(1)?);
        state_object(call, state.ok_or_else(unknown_digest)?)
    }),
    ("random", |call| {
        let mut bytes = vec![0; call.size(0)?.min(MAX_BYTES)];
        getrandom::fill(&mut bytes).map_err(NativeError::from)?;
        call.reply(bytes)
    }),
    ("isEqual", |call| call.reply(is_equal(&call.bytes(0)?, &call.bytes(1)?))),
    ("pbkdf2", |call| derived(call, pbkdf2_bytes)),
    ("scrypt", |call| derived(call, scrypt_bytes)),
    ("cipher", |call| call.reply(cipher::Job::from_object(&call.object(0)?)?.run()?)),
];

fn unknown_digest() -> NativeError {
    NativeError::new("Digest method not supported").with("code", "ERR_CRYPTO_INVALID_DIGEST")
}

/// Returns the plain name of a digest: `sha256` for `SHA-256` and `RSA-SHA256`.
fn plain_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let lower = lower.strip_prefix("rsa-").unwrap_or(&lower);
    lower.replace(['-', '/'], "")
}

/// A hash or an HMAC in progress.
trait State {
    fn update(&mut self, bytes: &[u8]);
    fn finish(&self) -> Vec<u8>;
    fn copy(&self) -> Box<dyn State>;
}

macro_rules! digests {
    ($($name:literal => $digest:ty,)*) => {
        $(impl State for Hmac<$digest> {
            fn update(&mut self, bytes: &[u8]) {
                Mac::update(self, bytes);
            }

            fn finish(&self) -> Vec<u8> {
                self.clone().finalize().into_bytes().to_vec()
            }

            fn copy(&self) -> Box<dyn State> {
                Box::new(self.clone())
            }
        }

        impl State for $digest {
            fn update(&mut self, bytes: &[u8]) {
                Digest::update(self, bytes);
            }

            fn finish(&self) -> Vec<u8> {
                self.clone().finalize().to_vec()
            }

            fn copy(&self) -> Box<dyn State> {
                Box::new(self.clone())
            }
        })*

        fn hasher(name: &str) -> Option<Box<dyn State>> {
            match plain_name(name).as_str() {
                $($name => Some(Box::new(<$digest>::default())),)*
                _ => None,
            }
        }

        fn keyed(name: &str, key: &[u8]) -> Option<Box<dyn State>> {
            match plain_name(name).as_str() {
                $($name => Some(Box::new(<Hmac<$digest> as Mac>::new_from_slice(key).ok()?)),)*
                _ => None,
            }
        }

        fn derive(name: &str, job: &Derivation) -> Option<Vec<u8>> {
            let mut key = vec![0; job.length];
            let (password, salt) = (&job.password, &job.salt);
            match plain_name(name).as_str() {
                $($name => pbkdf2::pbkdf2_hmac::<$digest>(password, salt, job.cost, &mut key),)*
                _ => return None,
            }
            Some(key)
        }
    };
}

digests! {
    "md5" => md5::Md5,
    "sha1" => sha1::Sha1,
    "sha224" => sha2::Sha224,
    "sha256" => sha2::Sha256,
    "sha384" => sha2::Sha384,
    "sha512" => sha2::Sha512,
}

/// Returns an object with `update(bytes)`, `digest()` and `copy()`.
fn state_object<'js>(call: &Call<'_, 'js>, state: Box<dyn State>) -> Answer<'js> {
    let (ctx, host) = (call.ctx(), call.host);
    let object = Object::new(ctx.clone())?;
    let state = Rc::new(RefCell::new(state));
    let updated = Rc::clone(&state);
    let update = function(ctx, host, move |call| {
        updated.borrow_mut().update(&call.bytes(0)?);
        call.done()
    });
    object.set("update", update?)?;
    let copied = Rc::clone(&state);
    let copy = function(ctx, host, move |call| state_object(call, copied.borrow().copy()));
    object.set("copy", copy?)?;
    let digest = function(ctx, host, move |call| call.reply(state.borrow().finish()));
    object.set("digest", digest?)?;
    Ok(object.into_value())
}

/// Compares in a time that does not depend on the contents.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let different = a.iter().zip(b).fold(0, |found, (a, b)| found | (a ^ b));
    a.len() == b.len() && different == 0
}

/// Arguments of a key derivation.
struct Derivation {
    password: Vec<u8>,
    salt: Vec<u8>,
    length: usize,
    /// Iterations of PBKDF2, or N of scrypt.
    cost: u32,
    digest: String,
    block_size: u32,
    parallelization: u32,
}

/// Returns the key of a job `{ password, salt, length, cost, digest, blockSize, parallelization,
/// isSync }`, or a promise for it.
fn derived<'js>(
    call: &Call<'_, 'js>,
    compute: fn(&Derivation) -> Result<Vec<u8>, NativeError>,
) -> Answer<'js> {
    let job = call.object(0)?;
    let is_sync: bool = job.get("isSync")?;
    let (password, salt): (Bytes, Bytes) = (job.get("password")?, job.get("salt")?);
    let job = Derivation {
        password: password.0,
        salt: salt.0,
        length: job.get::<_, usize>("length")?.min(MAX_BYTES),
        cost: job.get("cost")?,
        digest: job.get("digest")?,
        block_size: job.get("blockSize")?,
        parallelization: job.get("parallelization")?,
    };
    if is_sync {
        return call.reply(call.host.block(|| compute(&job))?);
    }
    call.promise(async move {
        let key = tokio::task::spawn_blocking(move || compute(&job)).await?;
        Ok(key?.into())
    })
}

fn pbkdf2_bytes(job: &Derivation) -> Result<Vec<u8>, NativeError> {
    derive(&job.digest, job).ok_or_else(unknown_digest)
}

fn scrypt_bytes(job: &Derivation) -> Result<Vec<u8>, NativeError> {
    let invalid = || {
        NativeError::of("RangeError", "Invalid scrypt params")
            .with("code", "ERR_CRYPTO_INVALID_SCRYPT_PARAMS")
    };
    if !job.cost.is_power_of_two() || job.cost < 2 {
        return Err(invalid());
    }
    let log = u8::try_from(job.cost.trailing_zeros()).map_err(|_| invalid())?;
    let params =
        scrypt::Params::new(log, job.block_size, job.parallelization, 32).map_err(|_| invalid())?;
    let mut key = vec![0; job.length];
    if !key.is_empty() {
        scrypt::scrypt(&job.password, &job.salt, &params, &mut key).map_err(|_| invalid())?;
    }
    Ok(key)
}
