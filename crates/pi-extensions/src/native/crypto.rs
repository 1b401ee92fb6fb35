//! Hashes, random numbers, derived keys and ciphers.

#![allow(clippy::needless_pass_by_value)] // The engine hands over the arguments of a function.

use std::cell::RefCell;
use std::rc::Rc;

use hmac::{Hmac, Mac};
use rquickjs::{Ctx, Function, Object};
use sha2::Digest;

use crate::error::NativeError;
use crate::host::Host;
use crate::value::Bytes;

mod cipher;

/// Largest number of random or derived bytes of one call.
const MAX_BYTES: usize = 64 << 20;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(
        "createHash",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, name: String| {
            let state = hasher(&name).ok_or_else(|| unknown_digest().throw(&ctx))?;
            state_object(&ctx, state)
        })?,
    )?;
    object.set(
        "createHmac",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, name: String, key: Bytes| {
            let state = keyed(&name, &key.0).ok_or_else(|| unknown_digest().throw(&ctx))?;
            state_object(&ctx, state)
        })?,
    )?;
    object.set(
        "random",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, count: usize| {
            let mut bytes = vec![0; count.min(MAX_BYTES)];
            getrandom::fill(&mut bytes)
                .map_err(|error| NativeError::new(error.to_string()).throw(&ctx))?;
            Ok::<_, rquickjs::Error>(Bytes(bytes))
        })?,
    )?;
    object.set("isEqual", Function::new(ctx.clone(), is_equal)?)?;
    object.set("pbkdf2", derive_function(ctx, host, pbkdf2_bytes)?)?;
    object.set("scrypt", derive_function(ctx, host, scrypt_bytes)?)?;
    object.set(
        "cipher",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, job: Object<'js>| {
            let job = cipher::Job::from_object(&job)?;
            job.run().map_err(|error| error.throw(&ctx))
        })?,
    )?;
    Ok(object)
}

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
fn state_object<'js>(ctx: &Ctx<'js>, state: Box<dyn State>) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = Rc::new(RefCell::new(state));
    let updated = Rc::clone(&state);
    object.set(
        "update",
        Function::new(ctx.clone(), move |bytes: Bytes| updated.borrow_mut().update(&bytes.0))?,
    )?;
    let copied = Rc::clone(&state);
    object.set(
        "copy",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            state_object(&ctx, copied.borrow().copy())
        })?,
    )?;
    object.set("digest", Function::new(ctx.clone(), move || Bytes(state.borrow().finish()))?)?;
    Ok(object)
}

/// Compares in a time that does not depend on the contents.
fn is_equal(a: Bytes, b: Bytes) -> bool {
    let different = a.0.iter().zip(&b.0).fold(0, |found, (a, b)| found | (a ^ b));
    a.0.len() == b.0.len() && different == 0
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

/// `(password, salt, length, cost, digest, blockSize, parallelization, isSync)` returns the key, or
/// a promise for it.
fn derive_function<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    compute: fn(&Derivation) -> Result<Vec<u8>, NativeError>,
) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, job: Object<'js>| {
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
            let key = host.block(|| compute(&job)).map_err(|error| error.throw(&ctx))?;
            return rquickjs::IntoJs::into_js(Bytes(key), &ctx);
        }
        let promise = host.promise(&ctx, async move {
            let key = tokio::task::spawn_blocking(move || compute(&job)).await?;
            key.map(Bytes)
        })?;
        Ok(promise.into_value())
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
