//! Settings, credentials and trust.

mod both;
mod credentials;
mod env;
mod files;
mod mcp;
mod observed;
mod schemas;
mod settings;
mod trust;
mod values;
