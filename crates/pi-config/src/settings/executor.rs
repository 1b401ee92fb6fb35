//! The setting `executor`: the machine or container in which tools work.
//!
//! An invalid value is an error and not ignored: a misspelled name must not mean this machine.

use pi_tools::ExecutorSpec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The machine or container in which tools work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutorSetting(pub ExecutorSpec);

impl<'de> Deserialize<'de> for ExecutorSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = String::deserialize(deserializer)?.parse().map_err(D::Error::custom)?;
        Ok(Self(spec))
    }
}

impl JsonSchema for ExecutorSetting {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Executor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = r"^(local|(ssh|docker|podman):[^-\s].*)$";
        json_schema!({ "type": "string", "pattern": pattern })
    }
}
