//! `/context`: what fills the context window, and what the session has cost.

use std::collections::BTreeMap;

use pi_base::text::grouped;
use pi_coding_agent::AgentSession;
use pi_protocol::{AgentMessage, Declarations, EntryBody, Message};
use pi_session::SessionError;

use crate::app::App;
use crate::composition::{Composition, costs};
use crate::report::{Item, Report};

/// Content of the report.
struct Figures {
    composition: Composition,
    window: u64,
    /// The last count of the provider, and what came after it.
    counted: Option<u64>,
    costs: BTreeMap<String, (u64, f64)>,
}

pub(super) fn run(app: &mut App, _argument: &str) {
    let session = app.session.clone();
    // Reads the whole log.
    app.tasks.spawn_blocking(
        move || figures(&session),
        |app, figures| match figures {
            Ok(figures) => {
                app.transcript.push(Box::new(Report::new(items(&figures))));
            }
            Err(error) => app.error(error.to_string()),
        },
    );
}

fn figures(session: &AgentSession) -> Result<Figures, SessionError> {
    let mut declared = session.with_log(|log| log.outline())?.declared;
    if declared.sections.is_empty() && declared.content.is_empty() {
        // Nothing was sent yet: this is what the first request will contain.
        let tools = session.active_tools();
        declared = Declarations {
            sections: session.prompt_options().build(),
            tools: tools.iter().map(|tool| tool.declaration().clone()).collect(),
            ..Declarations::default()
        };
    }
    let messages = session.messages();
    let composition = Composition::new(&declared, messages.iter());
    let answers = session.with_log(|log| {
        let mut answers = Vec::new();
        for entry in log.entries() {
            let entry = match entry {
                Err(SessionError::Damaged { .. }) => continue,
                entry => entry?,
            };
            if let EntryBody::Message(AgentMessage::Llm(Message::Assistant(answer))) = &entry.body {
                answers
                    .push((format!("{}/{}", answer.provider, answer.model), answer.usage.clone()));
            }
        }
        Ok::<_, SessionError>(answers)
    })?;
    let usage = session.context_usage()?;
    Ok(Figures {
        composition,
        window: usage.as_ref().map_or(0, |usage| usage.context_window),
        counted: usage.and_then(|usage| usage.tokens),
        costs: costs(answers.iter().map(|(model, usage)| (model.as_str(), usage))),
    })
}

fn items(figures: &Figures) -> Vec<Item> {
    let Figures { composition, window, counted, costs } = figures;
    let total = composition.total();
    let whole = (*window).max(total).max(1) as f64;
    let mut items = vec![Item::Heading("Context".to_owned()), Item::Gap];
    for (name, size) in composition.parts() {
        items.push(Item::Share(name, format!("~{}", grouped(size)), size as f64 / whole));
    }
    if let Some(free) = window.checked_sub(total) {
        let share = free as f64 / whole;
        items.push(Item::Share("free".to_owned(), format!("~{}", grouped(free)), share));
    }
    items.push(Item::Gap);
    items.push(Item::pair("Estimated", format!("~{} tokens", grouped(total))));
    if let Some(counted) = counted {
        let text = format!("{} tokens, as the provider counts", grouped(*counted));
        items.push(Item::pair("Counted", text));
    }
    if *window > 0 {
        items.push(Item::pair("Window", format!("{} tokens", grouped(*window))));
    }
    items.push(Item::Note("Numbers with ~ are estimates: four characters per token.".to_owned()));
    if !costs.is_empty() {
        items.extend([Item::Gap, Item::Heading("Cost by model, all branches".to_owned())]);
        for (model, (tokens, cost)) in costs {
            items.push(Item::pair(model, format!("${cost:.3} for {} tokens", grouped(*tokens))));
        }
    }
    items
}
