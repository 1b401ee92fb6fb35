//! An external npm, pnpm or bun that the setting `npmCommand` selects, with the arguments that the
//! TypeScript pi uses. Scripts of packages do not run here either.

use std::path::Path;

use pi_config::Environment;

use crate::PackageError;
use crate::process::{self, Output};

/// The command line that is used as npm.
#[derive(Debug, Clone)]
pub(crate) struct NpmCommand {
    program: String,
    arguments: Vec<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Npm,
    Pnpm,
    Bun,
    Other,
}

const NPM: &[&str] = &["--legacy-peer-deps", "--no-audit", "--no-fund"];
const PNPM: &[&str] = &[
    "--config.auto-install-peers=false",
    "--config.strict-peer-dependencies=false",
    "--config.strict-dep-builds=false",
];
const BUN: &[&str] = &["--omit=peer"];

impl NpmCommand {
    /// Parses the setting; `None` if it is empty.
    pub(crate) fn new(words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        // A wrapper comes before: `mise exec -- npm`.
        let names = words.iter().rev().map(|word| word.rsplit('/').next().unwrap_or(word));
        let kind = names.filter_map(|name| match name {
            "npm" => Some(Kind::Npm),
            "pnpm" => Some(Kind::Pnpm),
            "bun" => Some(Kind::Bun),
            _ => None,
        });
        let kind = kind.into_iter().next().unwrap_or(Kind::Other);
        Some(Self { program: program.clone(), arguments: arguments.to_vec(), kind })
    }

    /// Installs a package below `root`.
    pub(crate) async fn install(
        &self,
        spec: &str,
        root: &Path,
        environment: &Environment,
        errors: &mut String,
    ) -> Result<Output, PackageError> {
        let arguments = self.in_root("install", spec, root, true);
        self.run(arguments, &environment.cwd, environment, errors).await
    }

    /// Removes a package below `root`.
    pub(crate) async fn uninstall(
        &self,
        name: &str,
        root: &Path,
        environment: &Environment,
        errors: &mut String,
    ) -> Result<Output, PackageError> {
        let arguments = self.in_root("uninstall", name, root, self.kind == Kind::Npm);
        self.run(arguments, &environment.cwd, environment, errors).await
    }

    /// Installs the dependencies of a repository.
    pub(crate) async fn install_dependencies(
        &self,
        repository: &Path,
        environment: &Environment,
        errors: &mut String,
    ) -> Result<Output, PackageError> {
        let words: &[&[&str]] = match self.kind {
            Kind::Npm => &[&["install", "--omit=dev"], NPM],
            Kind::Pnpm => &[&["install", "--prod"], PNPM],
            Kind::Bun => &[&["install", "--omit=dev"], BUN],
            Kind::Other => &[&["install"]],
        };
        let arguments = words.concat().into_iter().map(str::to_owned).collect();
        self.run(arguments, repository, environment, errors).await
    }

    fn in_root(&self, verb: &str, spec: &str, root: &Path, with_options: bool) -> Vec<String> {
        let (directory, options) = match self.kind {
            Kind::Bun => ("--cwd", BUN),
            Kind::Pnpm => ("--prefix", PNPM),
            Kind::Npm | Kind::Other => ("--prefix", NPM),
        };
        let root = root.to_string_lossy();
        let mut arguments = vec![verb, spec, directory, &root];
        if with_options || self.kind == Kind::Other {
            arguments.extend(options);
        }
        arguments.into_iter().map(str::to_owned).collect()
    }

    async fn run(
        &self,
        arguments: Vec<String>,
        directory: &Path,
        environment: &Environment,
        errors: &mut String,
    ) -> Result<Output, PackageError> {
        let all = self.arguments.iter().cloned().chain(arguments).collect::<Vec<_>>();
        let variables = [("npm_config_ignore_scripts", "true")];
        process::run(&self.program, &all, directory, environment, &variables, errors).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_the_typescript_pi() {
        let root = Path::new("/r");
        for (words, install, uninstall) in [
            (
                "mise exec -- npm",
                "install a@1 --prefix /r --legacy-peer-deps --no-audit --no-fund",
                "uninstall a --prefix /r --legacy-peer-deps --no-audit --no-fund",
            ),
            (
                "/opt/pnpm",
                "install a@1 --prefix /r --config.auto-install-peers=false \
                 --config.strict-peer-dependencies=false --config.strict-dep-builds=false",
                "uninstall a --prefix /r",
            ),
            ("bun", "install a@1 --cwd /r --omit=peer", "uninstall a --cwd /r"),
            (
                "yarn",
                "install a@1 --prefix /r --legacy-peer-deps --no-audit --no-fund",
                "uninstall a --prefix /r --legacy-peer-deps --no-audit --no-fund",
            ),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let command = NpmCommand::new(&words).unwrap();
            assert_eq!(command.in_root("install", "a@1", root, true).join(" "), install);
            let is_npm = command.kind == Kind::Npm;
            assert_eq!(command.in_root("uninstall", "a", root, is_npm).join(" "), uninstall);
        }
        assert!(NpmCommand::new(&[]).is_none());
    }
}
