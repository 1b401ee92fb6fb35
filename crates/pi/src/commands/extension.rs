//! `pi extension`: creates, checks and tests extensions.

use std::path::{Path, PathBuf};

use pi_extensions::check::{self, Finding};
use pi_extensions::testing;

use super::auth::wait;
use super::{CommandResult, Failure, success};
use crate::exit::{Exit, hint, note, print};
use crate::flags::parse::CommandArgs;
use crate::{environment, extensions};

/// The files of a new extension. `NAME` in a text is replaced.
const TEMPLATE: &[(&str, &str)] = &[
    ("index.ts", include_str!("extension/template/index.ts")),
    ("index.test.ts", include_str!("extension/template/index.test.ts")),
    ("package.json", include_str!("extension/template/package.json")),
    ("tsconfig.json", include_str!("extension/template/tsconfig.json")),
    ("types/pi.d.ts", include_str!("extension/template/types/pi.d.ts")),
    ("README.md", include_str!("extension/template/README.md")),
];

/// Creates the files of a new extension.
pub(super) fn new(args: &CommandArgs) -> CommandResult {
    let directory = PathBuf::from(args.word(0).unwrap_or("."));
    let full = std::path::absolute(&directory)?;
    let name = full.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "extension".to_owned());
    let existing = TEMPLATE.iter().map(|(file, _)| full.join(file)).find(|path| path.exists());
    if let Some(path) = existing {
        let problem = format!("{} exists; choose another directory", path.display());
        return Err(Failure::failed(problem));
    }
    for (file, text) in TEMPLATE {
        let path = full.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text.replace("NAME", &name))?;
    }
    note(&format!("created the extension {name} in {}", directory.display()));
    hint(&format!("try it with `pi -e {}`", directory.display()));
    Ok(success())
}

/// Names what would not work.
pub(super) fn check(args: &CommandArgs) -> CommandResult {
    let files = entry_points(args)?;
    let findings: Result<Vec<Finding>, Failure> = wait(async {
        let mut all = Vec::new();
        for file in &files {
            let found = check::check(file).await;
            all.extend(found.map_err(|error| Failure::failed(error.to_string()))?);
        }
        Ok(all)
    })?;
    let findings = findings?;
    if args.has("json") {
        let text = serde_json::to_string_pretty(&findings)?;
        print(&format!("{text}\n"));
    } else {
        for one in &findings {
            let (path, severity) =
                (short(&one.path), if one.is_fatal { "error" } else { "warning" });
            let message = &one.message;
            print(&format!("{path}:{}:{}: {severity}: {message}\n", one.line, one.column));
        }
        match findings.len() {
            0 => note("no problem found"),
            count => note(&format!("problems: {count}")),
        }
    }
    Ok(if findings.is_empty() { success() } else { Exit::Failed.into() })
}

/// Returns a path relative to the working directory, if it is below it.
fn short(path: &Path) -> String {
    let normal: PathBuf = path.components().collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    normal.strip_prefix(&cwd).unwrap_or(&normal).display().to_string()
}

/// Runs the tests of extensions.
pub(super) fn test(args: &CommandArgs) -> CommandResult {
    let environment = environment::read().map_err(Failure::failed)?;
    let path = PathBuf::from(args.word(0).unwrap_or("."));
    let files = testing::find_files(&std::path::absolute(&path)?)
        .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
    if files.is_empty() {
        let problem = format!("no tests in {}; their names end in .test.ts", path.display());
        return Err(Failure::failed(problem));
    }
    let failures = wait(run(&files, &environment.cwd))?;
    Ok(if failures == 0 { success() } else { Exit::Failed.into() })
}

/// Runs files of tests and returns the number of failures.
async fn run(files: &[PathBuf], cwd: &Path) -> usize {
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let name = file.strip_prefix(cwd).unwrap_or(file).display().to_string();
        match testing::run_file(file, extensions::process(cwd)).await {
            Ok(results) => {
                for result in results {
                    match result.error {
                        None => {
                            passed += 1;
                            print(&format!("ok      {name}: {}\n", result.name));
                        }
                        Some(error) => {
                            failed += 1;
                            let error = error.replace('\n', "\n        ");
                            print(&format!("FAILED  {name}: {}\n        {error}\n", result.name));
                        }
                    }
                }
            }
            Err(error) => {
                failed += 1;
                let error = error.to_string().replace('\n', "\n        ");
                print(&format!("FAILED  {name}\n        {error}\n"));
            }
        }
    }
    note(&format!("{passed} passed, {failed} failed"));
    if passed + failed == 0 {
        note("the files declare no test");
        return 1;
    }
    failed
}

/// Returns the files of the extensions that the arguments name.
fn entry_points(args: &CommandArgs) -> Result<Vec<PathBuf>, Failure> {
    let path = std::path::absolute(args.word(0).unwrap_or("."))?;
    if path.is_file() {
        return Ok(vec![path]);
    }
    let files = pi_config::resources::named_extensions(&path);
    if files.is_empty() {
        let problem = format!("no extension in {}", path.display());
        return Err(Failure::failed(problem));
    }
    Ok(files)
}
