//! Results of servers, beside those of other programs for the same servers.

use super::*;

/// The beginning of a PNG file.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

fn texts(output: &ToolOutput) -> Vec<String> {
    let shown = output.content.iter().map(|block| match block {
        UserBlock::Image(image) => format!("image {}", image.mime_type),
        block => block.as_text().unwrap_or_default().to_owned(),
    });
    shown.collect()
}

fn output(result: Value) -> (ToolOutput, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let result = serde_json::from_value(result).unwrap();
    (tool_output("s", "t", result, &Files::new(directory.path())), directory)
}

/// A table of results and the texts that models get.
#[test]
fn items_of_a_result() {
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A file",
        "mimeType": "text/plain", "size": 1234, "description": "the file"});
    let embedded =
        |resource: Value| json!({"content": [{"type": "resource", "resource": resource}]});
    let text = |text: &str| json!({"type": "text", "text": text});
    for (result, expected) in [
        (json!({"content": [text("a"), text("b")]}), vec!["a", "b"]),
        (json!({}), vec![]),
        (json!({"content": [], "isError": true}), vec!["MCP tool s/t returned an error"]),
        (json!({"content": [text("bad")], "isError": true}), vec!["bad"]),
        (json!({"structuredContent": {"a": [1]}}), vec!["{\n  \"a\": [\n    1\n  ]\n}"]),
        (
            json!({"content": [link, {"type": "resource_link", "uri": "x://b", "name": "b", "size": 5}]}),
            vec![
                "[Resource file:///a \"A file\" (text/plain, 1.2KB): the file. Read it with \
                 read_mcp_resource (server \"s\")]",
                "[Resource x://b \"b\" (5B). Read it with read_mcp_resource (server \"s\")]",
            ],
        ),
        (embedded(json!({"uri": "x://a", "text": "inside"})), vec!["inside"]),
        (embedded(json!({"uri": "x://a", "mimeType": "a/b+json", "blob": "e30="})), vec!["{}"]),
        (
            embedded(json!({"uri": "x://a", "mimeType": "image/png", "blob": PNG})),
            vec!["image image/png"],
        ),
        (
            embedded(json!({"uri": "x://a", "blob": "%"})),
            vec!["[Resource x://a has invalid base64 data]"],
        ),
        (
            json!({"content": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
                {"type": "image", "data": PNG, "mimeType": "image/jpeg"},
                {"type": "image", "data": "", "mimeType": "image/png"},
                {"type": "image", "data": "%", "mimeType": "image/png"}, {"type": "video"}, 7]}),
            vec![
                "[audio audio/wav omitted]",
                "image image/png",
                "[image image/png omitted: it is empty]",
                "[image image/png omitted: invalid base64 data]",
                "[unsupported MCP content video]",
                "[unsupported MCP content without a type]",
            ],
        ),
    ] {
        let (output, _directory) = output(result.clone());
        assert_eq!(texts(&output), expected, "{result}");
        assert_eq!(output.is_error, result["isError"] == true);
        let details = json!({"server": "s", "tool": "t", "untrusted": true});
        assert_eq!(output.details.unwrap(), details);
    }
}

/// A table of resources and the texts that models get.
#[test]
fn contents_of_a_resource() {
    let directory = tempfile::tempdir().unwrap();
    let plain = json!({"uri": "x://a", "text": "inside"});
    let coded = json!({"uri": "x://b", "mimeType": "TEXT/Plain; charset=utf-8", "blob": "e30="});
    for (contents, expected) in [
        (json!([plain]), vec!["inside"]),
        (json!([coded]), vec!["{}"]),
        (json!([plain, coded]), vec!["x://a:", "inside", "x://b:", "{}"]),
        (json!([]), vec!["The resource x://a is empty."]),
    ] {
        let items: Vec<ResourceContents> = serde_json::from_value(contents.clone()).unwrap();
        let output = resource_output("s", "x://a", &items, &Files::new(directory.path()));
        assert_eq!(texts(&output), expected, "{contents}");
    }
}

#[test]
fn binary_data_is_saved() {
    let blob = json!({"content": [{"type": "resource", "resource": {"uri": "x://a", "blob": "AAEC"}},
        {"type": "image", "data": "AAEC", "mimeType": "image/tiff"},
        {"type": "image", "data": "AAEC", "mimeType": "image/png"}]});
    let (output, directory) = output(blob);
    let texts = texts(&output);
    assert!(
        texts[0].starts_with("[Binary resource x://a (unknown type, 3B) saved to "),
        "{texts:?}"
    );
    assert!(texts[1].starts_with("[Image (image/tiff, 3B) saved to "), "{texts:?}");
    assert!(texts[2].starts_with("[Image (image/png, 3B) saved to "), "{texts:?}");
    for file in std::fs::read_dir(directory.path()).unwrap() {
        assert_eq!(std::fs::read(file.unwrap().path()).unwrap(), [0, 1, 2]);
    }
}

#[test]
fn long_texts_are_cut_in_the_middle() {
    let line = "ä".repeat(10_300);
    let result = json!({"content": [{"type": "text", "text": line},
        {"type": "image", "data": PNG, "mimeType": "image/png"}], "_meta": {"x": 1}});
    let (output, _directory) = output(result);
    let shown = texts(&output);
    let half = "ä".repeat(5120);
    let start = format!(
        "Warning: truncated output (original token count: 5150)\nTotal output lines: 1\n\n\
         {half}…60 chars truncated…{half}\n\n[Full output: "
    );
    assert!(shown[0].starts_with(&start) && shown[0].ends_with(" (read it with offset/limit)]"));
    assert_eq!(shown[1], "image image/png");
    let saved = output.details.unwrap()["fullOutputPath"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(saved).unwrap(), line);
    assert_eq!(output.structured_content.unwrap().get("_meta"), None);
}

/// A result that is far too large is not copied into the session.
#[test]
fn large_results_are_not_kept_as_data() {
    let text = "x".repeat(LARGEST_DATA + 1);
    let (output, _directory) = output(json!({"content": [{"type": "text", "text": text}]}));
    assert!(output.structured_content.is_none());
    assert!(texts(&output)[0].len() < LONGEST_TEXT + 1000);
}

/// All images of a result are kept, but not all are sent with every later request.
#[test]
fn the_images_of_a_result_are_bounded() {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let (output, directory) = output(json!({"content": vec![image; 30]}));
    let texts = texts(&output);
    assert_eq!(texts.iter().filter(|text| *text == "image image/png").count(), 20);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 10);
}

/// The message of an error is that of a server, and has no bounds of its own.
#[test]
fn errors_are_bounded() {
    let output = error_output("s", "t", &format!("\u{1b}[31mbad{}", "x".repeat(1 << 20)));
    let text = texts(&output).remove(0);
    assert!(text.starts_with("[31mbadx") && text.len() <= ERROR + 3, "{}", text.len());
}
