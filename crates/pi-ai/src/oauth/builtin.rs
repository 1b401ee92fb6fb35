//! The services of the built-in providers.

use super::service::Service;

/// Returns the names of the built-in services.
pub fn names() -> &'static [&'static str] {
    &[]
}

/// Returns a built-in service by its name, which is the id of its provider.
pub fn service(name: &str) -> Option<Service> {
    let _ = name;
    None
}
