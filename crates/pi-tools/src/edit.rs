//! The tool `edit`: replaces exact pieces of text in a file.

mod arguments;
mod diff;
mod excerpt;
mod lines;
mod matching;

use std::path::Path;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_fs::NotRegular;
use pi_protocol::{CancelToken, Effects};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, STRICT};
use crate::call;
use crate::change::{FileChange, run_to_end, unless_aborted, with_note};
use crate::executor::FileKind;
use crate::os_error;
use crate::seen::Fingerprint;
use crate::truncate::format_size;
use crate::workspace::{Workspace, check_abort};
use lines::Original;

/// Largest file that is edited. It is in memory about five times: before and after the change, and
/// for the comparison of both.
const MOST_EDITED: u64 = 64 * 1024 * 1024;

/// The arguments of `edit`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file, relative to the working directory or absolute
    path: String,
    /// Replacements. Each oldText is matched against the original file, not against the result of earlier edits
    edits: Vec<Edit>,
}

/// One replacement in the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Edit {
    /// Exact text to replace. It must occur exactly once in the file and must not overlap another edit
    old_text: String,
    /// Text to insert in its place
    new_text: String,
}

/// `edit` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "edit",
    active_by_default: true,
    needs_background: false,
    build: |workspace| Some(edit(workspace)),
    effects,
    output_schema: None,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(path) = call::text(arguments, "path") else { return Effects::unknown() };
    Effects::none().write(path, "path").summary(path, false)
}

/// Creates the tool `edit`.
pub fn edit(workspace: Arc<Workspace>) -> FnTool {
    let description = "Replace text in one file. Each oldText must match exactly one place in the file, including whitespace. Combine overlapping or adjacent changes into a single edit. Put all changes to one file into one call.";
    FnTool::typed("edit", description, move |arguments: Arguments, invocation| {
        let (workspace, cancel) = (Arc::clone(&workspace), invocation.cancel);
        run_to_end(async move { execute(&workspace, arguments, &cancel).await })
    })
    .prepare(|raw| Ok(arguments::prepare(raw)))
    .effects(effects)
    .prompt_snippet("Replace text in a file; several edits per call")
    .prompt_guidelines([
        "Read a file before you edit it. Copy oldText from the file, not from memory.",
        "Make all changes to one file in one call of edit, with one entry in edits per place. Combine overlapping or adjacent changes into a single edit.",
        "Keep oldText as short as possible while it is unique in the file.",
    ])
    .constrained_sampling(STRICT)
}

/// Returns the diff that `edit` would make to a file with this content, as in the details of its
/// result; `None` if it would fail. For screens that show a change before it is made.
pub fn preview_edit(arguments: &Map<String, Value>, content: &[u8]) -> Option<String> {
    let prepared = arguments::prepare(arguments);
    let arguments = prepared.as_ref().unwrap_or(arguments);
    let Arguments { path, mut edits } =
        Arguments::deserialize(Value::Object(arguments.clone())).ok()?;
    normalize(&mut edits);
    let original = Original::new(content);
    let located = matching::locate(&original.text, &edits).ok()?;
    let result = original.replace(&located, &edits);
    let text = Original::new(&result).text;
    (!edits.is_empty() && text != original.text)
        .then(|| diff::diff(&path, &original.text, &text).display)
}

/// Converts the line ends of models to line feeds.
fn normalize(edits: &mut [Edit]) {
    for edit in edits {
        edit.old_text = lines::with_line_feeds(&edit.old_text).into_owned();
        edit.new_text = lines::with_line_feeds(&edit.new_text).into_owned();
    }
}

async fn execute(
    workspace: &Workspace,
    arguments: Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let Arguments { path: shown, mut edits } = arguments;
    if edits.is_empty() {
        return Err(ToolError::new(
            "Edit tool input is invalid. edits must contain at least one replacement.",
        ));
    }
    normalize(&mut edits);
    check_abort(cancel)?;
    let path = workspace.resolve(&shown);
    let change = FileChange::begin(workspace, &path, &shown, cancel).await?;
    let content = unless_aborted(cancel, content(workspace, &path, &shown)).await??;
    let note = change.compare(Some(Fingerprint::of(&content)))?;

    let original = Original::new(&content);
    let located = matching::locate(&original.text, &edits).map_err(|error| {
        let described = error.describe(&shown, edits.len() > 1);
        let missing = error.missing().and_then(|edit| edits.get(edit));
        // A file that may be changed and not be read stays hidden.
        let hidden = workspace.unreadable().is_some_and(|unreadable| unreadable(&path));
        let excerpt = missing
            .filter(|_| !hidden)
            .and_then(|edit| excerpt::excerpt(&shown, &original.text, &edit.old_text));
        match excerpt {
            Some(excerpt) => ToolError::new(format!("{}\n\n{excerpt}", described.message())),
            None => described,
        }
    })?;
    let result = original.replace(&located, &edits);
    let text = Original::new(&result).text;
    // Invalid UTF-8 may still have changed, but no edit asked for that.
    if text == original.text {
        return Err(matching::EditError::NoChange.describe(&shown, edits.len() > 1));
    }
    let diff = diff::diff(&shown, &original.text, &text);
    change.replace(&result, cancel).await?;
    let text = format!("Successfully replaced {} block(s) in {shown}.", edits.len());
    Ok(with_note(text, note).with_details(json!({
        "diff": diff.display,
        "patch": diff.patch,
        "firstChangedLine": diff.first_changed_line,
    })))
}

/// Reads the content of a file that may be changed.
async fn content(workspace: &Workspace, path: &Path, shown: &str) -> Result<Vec<u8>, ToolError> {
    let executor = workspace.executor();
    let refuse = |error: std::io::Error| {
        if NotRegular::is_cause(&error) {
            return ToolError::new(format!("Could not edit file: {shown}. It is {error}."));
        }
        let mut code = os_error::code(&error)
            .map_or_else(|| error.to_string(), |(code, _)| format!("Error code: {code}."));
        if let Some(denial) = os_error::denial(&error) {
            code.push_str(&format!(" Denied by the sandbox: {denial}."));
        }
        ToolError::new(format!("Could not edit file: {shown}. {code}"))
    };
    let stat = executor.stat(path).await.map_err(refuse)?;
    match stat.kind {
        FileKind::Other => return Err(refuse(NotRegular.into())),
        FileKind::File if stat.size > MOST_EDITED => return Err(too_large(shown, stat.size)),
        FileKind::File => executor.check_writable(path).await.map_err(refuse)?,
        // Reading it fails with an error that names the kind.
        FileKind::Directory | FileKind::Link => {}
    }
    let read = executor.read(path, MOST_EDITED + 1).await;
    let content = read.map_err(|error| os_error::bare(&error, "read"))?;
    // The file may have grown, or not know its size.
    match content.len() as u64 {
        size if size > MOST_EDITED => Err(too_large(shown, size)),
        _ => Ok(content),
    }
}

fn too_large(shown: &str, size: u64) -> ToolError {
    let (size, most) = (format_size(size as usize), format_size(MOST_EDITED as usize));
    ToolError::new(format!(
        "Could not edit file: {shown}. It has {size}; edit changes files of up to {most}. Use bash, for example sed -i."
    ))
}
