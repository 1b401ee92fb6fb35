//! `pi extension test`, as a function.

use std::path::Path;

use pi_extensions::ProcessOptions;
use pi_extensions::testing::{find_files, run_file};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/testing");

#[tokio::test]
async fn tests_run_sessions_with_a_scripted_model() {
    let files = find_files(Path::new(FIXTURES)).unwrap();
    assert_eq!(files.len(), 1);
    let results = run_file(&files[0], ProcessOptions::new(FIXTURES)).await.unwrap();
    let errors: Vec<_> = results.iter().map(|result| result.error.as_deref()).collect();
    assert_eq!((errors.len(), errors[0], errors[1]), (3, None, None), "{results:?}");
    let error = errors[2].unwrap();
    assert!(error.contains(r#"expected {"a":[1,3]}, got {"a":[1,2]}"#), "{error}");
    assert!(error.contains("greeter.test.ts:22:"), "{error}");
}

#[tokio::test]
async fn a_file_that_does_not_load_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("broken.test.ts");
    std::fs::write(&file, "import './missing';").unwrap();
    let error = run_file(&file, ProcessOptions::new(directory.path())).await.unwrap_err();
    assert!(error.to_string().contains("Cannot find module './missing'"), "{error}");
}

#[tokio::test]
async fn extensions_cannot_start_sessions() {
    let setup = crate::trial::Setup::new().extension(
        "project/ext.ts",
        "import { session } from 'pi/test'; export default () => { session; };",
    );
    let trial = setup.start().await;
    let problems = trial.problems().join("\n");
    assert!(problems.contains("pi/test is only available in tests"), "{problems}");
}
