//! The user agent of requests. It is truthful: no other client is impersonated.

/// Returns the user agent of requests without another one.
pub fn user_agent() -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("pi/{} ({os}; rust; {arch})", env!("CARGO_PKG_VERSION"))
}
