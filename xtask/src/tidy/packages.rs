//! Licenses and duplicate versions of all packages that a build can need, by the rules of
//! `deny.toml`. cargo-deny checks the same and advisories, but is not always installed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Finding, TidyError};
use crate::repository;

const RULES: &str = "deny.toml";

/// A package of the lock file.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
}

/// The parts of `deny.toml` that are checked here.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
    exceptions: Vec<LicenseException>,
}

#[derive(Debug, Deserialize)]
struct LicenseException {
    #[serde(rename = "crate")]
    name: String,
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    skip: Vec<Duplicate>,
}

/// An old version that is known, as `NAME@VERSION`.
#[derive(Debug, Deserialize)]
struct Duplicate {
    #[serde(rename = "crate")]
    package: String,
    #[serde(default)]
    reason: String,
}

/// Checks the packages against `deny.toml`.
pub(super) fn check(packages: &[Package]) -> Result<Vec<Finding>, TidyError> {
    let failed = |source| TidyError::Read { path: RULES.to_owned(), source };
    let text = std::fs::read_to_string(repository::path(RULES)).map_err(failed)?;
    let rules: Rules =
        toml::from_str(&text).map_err(|error| failed(std::io::Error::other(error)))?;
    Ok(compare(packages, &rules))
}

fn compare(packages: &[Package], rules: &Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |advice: String| findings.push(Finding::new(RULES, 0, advice));
    for Package { name, version, license } in packages {
        let exception = rules.licenses.exceptions.iter().find(|other| other.name == *name);
        let is_allowed = |license: &str| {
            rules.licenses.allow.contains(license)
                || exception.is_some_and(|exception| exception.allow.contains(license))
        };
        match license {
            None => find(format!("{name} {version} has no license; choose another package")),
            Some(license) if !permits(license, &is_allowed) => {
                find(format!("the license of {name} {version} is not allowed: {license}"));
            }
            Some(_) => {}
        }
    }
    for LicenseException { name, .. } in &rules.licenses.exceptions {
        if !packages.iter().any(|package| package.name == *name) {
            find(format!("no package {name}; remove the exception"));
        }
    }
    let known: BTreeMap<&str, &str> =
        rules.bans.skip.iter().map(|known| (&*known.package, &*known.reason)).collect();
    let old = old_versions(packages);
    for package in old.iter().filter(|package| !known.contains_key(package.as_str())) {
        find(format!(
            "{package} is built beside a newer version; update what needs it, or add it to \
             `bans.skip` with a reason and the condition of its removal"
        ));
    }
    for (package, reason) in known {
        if !old.contains(package) {
            find(format!("{package} is no longer a duplicate; remove it from `bans.skip`"));
        } else if !["; until ", "; goes with "].iter().any(|condition| reason.contains(condition)) {
            find(format!("{package}: give a reason, then `; until …` or `; goes with …`"));
        }
    }
    findings
}

/// All versions but the newest of packages with several, as `NAME@VERSION`.
fn old_versions(packages: &[Package]) -> BTreeSet<String> {
    let number = |version: &str| -> Vec<u64> {
        let core = version.split(['-', '+']).next().unwrap_or_default();
        core.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    let is_old = |package: &&Package| {
        packages.iter().any(|other| {
            other.name == package.name && number(&other.version) > number(&package.version)
        })
    };
    let name = |package: &Package| format!("{}@{}", package.name, package.version);
    packages.iter().filter(is_old).map(name).collect()
}

/// Returns true if a license expression (SPDX, or the older form with a slash) can be met with
/// allowed licenses.
fn permits(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest, is_allowed) && rest.is_empty()
}

fn any_of(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = all_of(words, is_allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        met |= all_of(words, is_allowed);
    }
    met
}

fn all_of(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, is_allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        met &= one(words, is_allowed);
    }
    met
}

fn one(words: &mut &[&str], is_allowed: &dyn Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let met = any_of(words, is_allowed);
            if let [")", rest @ ..] = *words {
                *words = rest;
            }
            met
        }
        [license, "WITH", exception, rest @ ..] => {
            *words = rest;
            is_allowed(&format!("{license} WITH {exception}"))
        }
        [license, rest @ ..] => {
            *words = rest;
            is_allowed(license)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, license: &str) -> Package {
        let license = Some(license.to_owned()).filter(|license| !license.is_empty());
        Package { name: name.to_owned(), version: version.to_owned(), license }
    }

    fn found(packages: &[Package], skip: &str) -> Vec<String> {
        let rules = format!(
            "[licenses]\nallow = [\"MIT\"]\nexceptions = [{{ crate = \"x\", allow = [\"Y\"] }}]\n\
             [bans]\nskip = [{skip}]\n"
        );
        let rules: Rules = toml::from_str(&rules).unwrap();
        let packages: Vec<Package> =
            packages.iter().cloned().chain([package("x", "1.0.0", "Y")]).collect();
        compare(&packages, &rules).into_iter().map(|finding| finding.advice).collect()
    }

    #[test]
    fn license_expressions_are_evaluated() {
        let allowed = |license: &str| ["MIT", "ISC", "A WITH B"].contains(&license);
        for good in ["MIT", "MIT OR GPL", "GPL/MIT", "(GPL OR MIT) AND ISC", "A WITH B OR GPL"] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in ["GPL", "MIT AND GPL", "(MIT OR ISC) AND GPL", "A", "", "MIT MIT", "A WITH C"] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn licenses_outside_the_list_are_found() {
        assert_eq!(found(&[package("a", "1.0.0", "MIT")], ""), [] as [&str; 0]);
        for license in ["GPL", "", "Y"] {
            let found = found(&[package("a", "1.0.0", license)], "");
            assert!(found.len() == 1 && found[0].contains("a 1.0.0"), "{found:?}");
        }
    }

    #[test]
    fn duplicates_are_known_and_the_list_shrinks() {
        let twice = [package("a", "0.9.0", "MIT"), package("a", "0.10.0+x", "MIT")];
        let skip = "{ crate = \"a@0.9.0\", reason = \"b; until b 2\" }";
        assert_eq!(found(&twice, skip), [] as [&str; 0]);
        for (packages, skip, expected) in [
            (&twice[..], "", "a@0.9.0 is built beside"),
            (&twice[1..], skip, "a@0.9.0 is no longer"),
            (&twice[..], "{ crate = \"a@0.9.0\", reason = \"b\" }", "a@0.9.0: give a reason"),
        ] {
            let found = found(packages, skip);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        }
    }
}
