//! Files that become extensions.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::trial::Setup;

#[tokio::test]
async fn a_typescript_extension_registers_a_tool() {
    let trial = Setup::new()
        .file(
            "project/helper.ts",
            "export enum Color { Red = 1 }\nexport const twice = (n: number): number => n * 2;\n",
        )
        .extension(
            "project/ext.ts",
            r#"
            import { twice, Color, Missing } from "./helper";
            interface Params { n: number }
            export default function (pi: any) {
                pi.registerTool({
                    name: "double",
                    description: "doubles",
                    parameters: { type: "object", properties: { n: { type: "number" } } },
                    async execute(_id: string, params: Params) {
                        await new Promise((resolve) => setTimeout(resolve, 1));
                        const text = `${twice(params.n)} ${Color.Red} ${typeof Missing}`;
                        return { content: [{ type: "text", text }] };
                    },
                });
            }
            "#,
        )
        .start()
        .await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    assert_eq!(trial.tool_text("double", json!({ "n": 21 })).await, "42 1 undefined");
}

#[tokio::test]
async fn positions_in_errors_are_those_of_the_source() {
    let trial = Setup::new()
        .extension(
            "project/ext.ts",
            "interface A {\n  a: string;\n  b: string;\n}\n\nexport default function (pi: any) {\n  const f = (a: A): never => { throw new Error(\"no \" + a); };\n  pi.registerTool({ name: \"t\", description: \"\", parameters: { type: \"object\" },\n    execute() { try { f({} as A); } catch (e: any) { return { content: [{ type: \"text\", text: e.stack }] }; } } });\n}\n",
        )
        .start()
        .await;
    let stack = trial.tool_text("t", json!({})).await;
    assert!(stack.starts_with("Error: no [object Object]\n    at f ("), "{stack}");
    assert!(stack.contains("ext.ts:7:"), "{stack}");
    assert!(stack.contains("ext.ts:9:"), "{stack}");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/loading").join(name)
}

/// The files of the fixture: each begins with a line `##FILE path`.
fn with_files(mut setup: Setup) -> Setup {
    let text = std::fs::read_to_string(fixture("files.txt")).unwrap();
    for part in text.split("##FILE ").skip(1) {
        let (name, content) = part.split_once('\n').unwrap();
        setup = setup.file(&format!("project/{name}"), content);
    }
    let link = setup.path("project/node_modules/linked");
    std::os::unix::fs::symlink("../real-linked", link).unwrap();
    setup
}

/// Forms of modules, resolution, errors: recorded from pi 1.5.0. Where its loader differs from Node
/// (a failed module that is half there at the second import, CommonJS files that are loaded twice,
/// exports that do not follow their variables), the fixture has what Node does.
#[tokio::test(flavor = "multi_thread")]
async fn modules_are_found_and_evaluated_as_in_pi() {
    let setup = with_files(Setup::new());
    let path = setup.path("project/forms.ts");
    let trial = setup.existing(path).start().await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    let values: Map<String, Value> =
        serde_json::from_str(&trial.tool_text("t", json!({})).await).unwrap();
    let expected = std::fs::read(fixture("expected.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_slice(&expected).unwrap();
    for (name, value) in &expected {
        assert_eq!(values.get(name), Some(value), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_have_their_own_modules_and_share_packages_and_globals() {
    let extension = |name: &str| {
        format!(
            r#"
            import {{ own }} from "./state"; import {{ shared }} from "counted";
            own.push("{name}"); shared.push("{name}"); globalThis.all = [...(globalThis.all ?? []), "{name}"];
            export default (pi: any) => pi.registerTool({{ name: "{name}", description: "", parameters: {{ type: "object" }},
                execute: () => ({{ content: [{{ type: "text", text: JSON.stringify([own, shared, globalThis.all]) }}] }}) }});
            "#
        )
    };
    let trial = Setup::new()
        .file("project/state.ts", "export const own: string[] = [];")
        .file("project/node_modules/counted/index.js", "exports.shared = [];")
        .extension("project/a.ts", &extension("a"))
        .extension("project/b.ts", &extension("b"))
        .start()
        .await;
    assert_eq!(trial.problems(), Vec::<String>::new());
    assert_eq!(trial.tool_text("a", json!({})).await, r#"[["a"],["a","b"],["a","b"]]"#);
    assert_eq!(trial.tool_text("b", json!({})).await, r#"[["b"],["a","b"],["a","b"]]"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_loaded_say_why() {
    let cases = [
        ("const x = ;", "ParseError: Unexpected token  \n PATH:2:12"),
        ("const x = 1 2;", "ParseError: Missing semicolon.  \n PATH:2:13"),
        ("if (x {", "ParseError: Unexpected token, expected \")\"  \n PATH:2:8"),
        (
            "const a = 1;\n  const a = 2;",
            "ParseError: Identifier 'a' has already been declared.  \n PATH:3:8",
        ),
        ("return \"abc", "ParseError: Unterminated string constant.  \n PATH:2:9"),
        ("throw new Error(\"factory said no\");", "factory said no"),
        ("throw \"a string\";", "a string"),
    ];
    for (body, expected) in cases {
        let text = format!("export default function (pi: any) {{\n  {body}\n}}\n");
        let setup = Setup::new().extension("project/ext.ts", &text);
        let path = setup.path("project/ext.ts").display().to_string();
        let trial = setup.start().await;
        let problems = trial.problems().join("\n");
        let expected = expected.replace("PATH", &path);
        assert!(problems.contains(&expected), "{body}: {problems}");
    }
    let missing = "import { x } from \"no-such-package\";\nexport default () => x;\n";
    let trial = Setup::new().extension("project/ext.ts", missing).start().await;
    let problems = trial.problems().join("\n");
    assert!(
        problems.contains("Cannot find module 'no-such-package'\nRequire stack:\n- "),
        "{problems}"
    );
}
