//! Files that become extensions.

use serde_json::json;

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
