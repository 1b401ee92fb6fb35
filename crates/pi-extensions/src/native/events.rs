//! Handlers of events and questions.

use pi_coding_agent::SystemPromptOptions;
use pi_coding_agent::extension::QuestionKind;
use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::extension::is_progress;
use crate::host::{ExtensionId, Host};
use crate::value::Json;

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    // Sets the numbers of the handlers of an event.
    object.set(
        "setHandlers",
        Function::new(ctx.clone(), move |id: ExtensionId, name: String, numbers: Vec<usize>| {
            state.with_extension(id, |extension| {
                if let Some(kind) = QuestionKind::ALL.iter().find(|kind| kind.name() == name) {
                    extension.api.answer(*kind);
                }
                if is_progress(&name) {
                    extension.api.receive_progress();
                }
                extension.listeners.set(name, numbers);
            });
        })?,
    )?;
    // Builds the system prompt of its parts.
    object.set(
        "systemPrompt",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, options: Json| {
            let options = SystemPromptOptions::from_payload(&options.0);
            options
                .map(|options| options.text())
                .map_err(|error| NativeError::from(error).throw(&ctx))
        })?,
    )?;
    Ok(object)
}
