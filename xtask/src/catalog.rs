//! `cargo xtask catalog [--check]`: writes the compact model catalog that `pi-ai` embeds.
//!
//! The source is `xtask/data/models.jsonl`. The same source always gives the same bytes, so
//! `--check`, and the test below, can compare the committed files with what would be written.
//!
//! Nothing here fetches anything.

mod encode;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_protocol::Model;

/// The records by provider and id, in the order of the output.
type Records = BTreeMap<String, BTreeMap<String, Model>>;

const SOURCE: &str = "xtask/data/models.jsonl";
const TEXT: &str = "crates/pi-ai/src/catalog/models.txt";
const INDEX: &str = "crates/pi-ai/src/catalog/index.rs";

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    #[error("usage: cargo xtask catalog [--check]")]
    Usage,
    #[error("cannot read {path}: {source}")]
    Read { path: &'static str, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: &'static str, source: io::Error },
    #[error("{SOURCE}, line {line}: {source}")]
    Parse { line: usize, source: serde_json::Error },
    #[error("{SOURCE}, line {line}: a second {provider}/{id}")]
    Duplicate { line: usize, provider: String, id: String },
    #[error("{provider}/{id}: the compact form cannot express this `{field}`")]
    NotExpressible { provider: String, id: String, field: &'static str },
    #[error("{provider}/{id}: the header `{header}` is not on the list of allowed headers")]
    Header { provider: String, id: String, header: String },
    #[error("cannot write a table row: {0}")]
    Row(#[from] serde_json::Error),
    #[error("{path} is out of date: run `cargo xtask catalog`")]
    OutOfDate { path: &'static str },
}

/// The two generated files.
struct Generated {
    text: String,
    index: String,
}

/// Writes or checks the catalog.
pub(crate) fn run(arguments: &[&str]) -> Result<(), CatalogError> {
    match arguments {
        [] => write(&generate()?),
        ["--check"] => check(&generate()?),
        _ => Err(CatalogError::Usage),
    }
}

fn generate() -> Result<Generated, CatalogError> {
    encode::catalog(&parse(&read(SOURCE)?)?)
}

fn parse(jsonl: &str) -> Result<Records, CatalogError> {
    let mut records = Records::new();
    for (at, text) in jsonl.lines().enumerate() {
        let line = at + 1;
        let model: Model =
            serde_json::from_str(text).map_err(|source| CatalogError::Parse { line, source })?;
        let (provider, id) = (model.provider.clone(), model.id.clone());
        let known = records.entry(provider.clone()).or_default();
        if known.insert(id.clone(), model).is_some() {
            return Err(CatalogError::Duplicate { line, provider, id });
        }
    }
    Ok(records)
}

fn write(generated: &Generated) -> Result<(), CatalogError> {
    for (path, content) in [(TEXT, &generated.text), (INDEX, &generated.index)] {
        fs::write(in_repository(path), content)
            .map_err(|source| CatalogError::Write { path, source })?;
    }
    Ok(())
}

fn check(generated: &Generated) -> Result<(), CatalogError> {
    for (path, content) in [(TEXT, &generated.text), (INDEX, &generated.index)] {
        if read(path)? != *content {
            return Err(CatalogError::OutOfDate { path });
        }
    }
    Ok(())
}

fn read(path: &'static str) -> Result<String, CatalogError> {
    fs::read_to_string(in_repository(path)).map_err(|source| CatalogError::Read { path, source })
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_catalog_is_up_to_date() {
        if let Err(error) = run(&["--check"]) {
            panic!("{error}");
        }
    }

    #[test]
    fn the_check_detects_a_difference() {
        let mut generated = generate().unwrap();
        generated.index.push('\n');
        assert!(matches!(
            check(&generated),
            Err(CatalogError::OutOfDate { path }) if path == INDEX
        ));
    }

    /// The embedded text contains all records of the source and no others.
    #[test]
    fn every_record_survives() {
        let source = read(SOURCE).unwrap();
        for line in source.lines() {
            let mut model: Model = serde_json::from_str(line).unwrap();
            // The catalog has no models of other types.
            model.extra.insert("type".to_owned(), "chat".into());
            let found = pi_ai::catalog::find(&model.provider, &model.id);
            assert_eq!(found.as_ref(), Some(&model));
        }
        let embedded: usize =
            pi_ai::catalog::providers().map(|id| pi_ai::catalog::models(id).count()).sum();
        assert_eq!(embedded, source.lines().count());
    }

    #[test]
    fn invalid_sources_are_rejected() {
        assert!(matches!(parse("{}"), Err(CatalogError::Parse { line: 1, .. })));
        let line = r#"{"id":"a","provider":"p","api":"x"}"#;
        assert!(parse(line).is_ok());
        assert!(matches!(
            parse(&format!("{line}\n{line}\n")),
            Err(CatalogError::Duplicate { line: 2, .. })
        ));
        assert!(matches!(run(&["--chek"]), Err(CatalogError::Usage)));
    }
}
