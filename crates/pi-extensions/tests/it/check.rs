//! `pi extension check`, as a function.

use pi_extensions::check::check;

/// Checks files and returns the findings as `line:column message`, fatal ones with `!`.
async fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let found = check(&directory.path().join(files[0].0)).await.unwrap();
    let line = |one: &pi_extensions::check::Finding| {
        let fatal = if one.is_fatal { "!" } else { "" };
        format!("{}:{} {fatal}{}", one.line, one.column, one.message)
    };
    found.iter().map(line).collect()
}

#[tokio::test]
async fn a_sound_extension_has_no_findings() {
    let found = findings(&[
        (
            "ext.ts",
            "import type { Gone } from 'no-such-module';\nimport { Type } from 'typebox';\nimport { helper } from './helper';\nexport default function (pi: Gone) {\n  pi.on('tool_call', () => helper(Type));\n  if (typeof Worker !== 'undefined') return;\n}\n",
        ),
        ("helper.ts", "export const helper = (x: unknown) => JSON.stringify(x);\n"),
    ])
    .await;
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test]
async fn what_would_not_work_is_named_with_its_place() {
    let found = findings(&[(
        "ext.ts",
        "import { thing } from './missing';\nimport other from 'not-installed';\nimport { Type, Nothing } from 'typebox';\nexport default (pi) => {\n  pi.on('session_switch', () => thing(other, Type, Nothing));\n  pi.on('no_such_event', () => undefinedGlobal());\n};\n",
    )])
    .await;
    assert_eq!(
        found,
        [
            "1:23 !cannot find module './missing'",
            "2:19 !cannot find module 'not-installed'",
            "3:16 typebox has no Nothing: it is undefined",
            "5:9 the event session_switch is gone and never fires; use session_start, with the reason `new` or `resume`",
            "6:9 there is no event no_such_event: the handler is never called",
            "6:32 undefinedGlobal is not defined",
        ]
    );
}

#[tokio::test]
async fn a_syntax_error_is_fatal() {
    let found = findings(&[("ext.ts", "export default (pi) => {\n  const = 1;\n};\n")]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("2:9 !"), "{found:?}");
}

#[tokio::test]
async fn an_installed_extension_is_checked_and_its_packages_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("node_modules/ext");
    std::fs::create_dir_all(package.join("node_modules/dep")).unwrap();
    std::fs::write(package.join("node_modules/dep/index.js"), "module.exports = undefinedThere;")
        .unwrap();
    let text = "import dep from 'dep';\nexport default () => undefinedHere(dep);\n";
    std::fs::write(package.join("index.ts"), text).unwrap();
    let found = check(&package.join("index.ts")).await.unwrap();
    let messages: Vec<_> = found.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, ["undefinedHere is not defined"]);
}
