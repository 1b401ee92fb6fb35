//! Handlers of events and questions.

use pi_coding_agent::SystemPromptOptions;
use pi_coding_agent::extension::QuestionKind;

use crate::error::NativeError;
use crate::host::{Natives, is_progress};

pub(super) const FUNCTIONS: Natives = &[
    // Sets the numbers of the handlers of an event.
    ("setHandlers", |call| {
        let (id, name, numbers) = (call.id(0)?, call.text(1)?, call.sizes(2)?);
        call.host.with_extension(id, |extension| {
            if let Some(kind) = QuestionKind::ALL.iter().find(|kind| kind.name() == name) {
                extension.api.answer(*kind);
            }
            if is_progress(&name) {
                extension.api.receive_progress();
            }
            extension.listeners.set(name, numbers);
        });
        call.done()
    }),
    // Builds the system prompt of its parts.
    ("systemPrompt", |call| {
        let options = SystemPromptOptions::from_payload(&call.json(0)?);
        call.reply(options.map_err(NativeError::from)?.text())
    }),
];
