//! The entries of the setting `packages`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A package of resources.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a string, or an object with \"source\"")]
#[allow(clippy::large_enum_variant)] // There are a handful, read once.
pub enum PackageSource {
    /// Everything in the package.
    Whole(String),
    /// The resources that the patterns select.
    #[serde(rename_all = "camelCase")]
    Part {
        /// Location of the package.
        source: String,
        /// `false` loads only the resources that the patterns select.
        autoload: Option<bool>,
        /// Patterns of extensions.
        extensions: Option<Vec<String>>,
        /// Patterns of skills.
        skills: Option<Vec<String>>,
        /// Patterns of prompt templates.
        prompts: Option<Vec<String>>,
        /// Patterns of themes.
        themes: Option<Vec<String>>,
        /// Rights of its extensions, which then have a runtime of their own. What is left out is
        /// not limited.
        #[schemars(with = "Option<PackageRights>")]
        rights: Option<Value>,
        /// `own` keeps its extensions apart from those of others.
        #[schemars(with = "Option<PackageRuntime>")]
        runtime: Option<Value>,
    },
}

/// The rights of a package in the schema. The host of extensions reads them, so that an error in
/// them concerns one package only.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // Only for the schema.
struct PackageRights {
    /// Patterns of files that may be read, besides those of the package.
    read: Option<PackageGrant>,
    /// Patterns of files that may be written.
    write: Option<PackageGrant>,
    /// Programs that may be started. A program has all your rights.
    run: Option<PackageGrant>,
    /// Hosts that may be reached.
    net: Option<PackageGrant>,
    /// Variables of the environment that are visible.
    env: Option<PackageGrant>,
}

/// One kind of rights.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // Only for the schema.
enum PackageGrant {
    /// Everything or nothing.
    All(bool),
    /// What is listed.
    Only(Vec<String>),
}

/// The runtime of the extensions of a package.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)] // Only for the schema.
enum PackageRuntime {
    /// A runtime for this package alone.
    Own,
}
