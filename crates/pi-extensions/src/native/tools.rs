//! The built-in tools for JavaScript: an extension starts a call and pulls what happens in it.
//!
//! Extensions may replace the access of a tool to files and commands by functions of their own
//! (`operations`): those become events that JavaScript answers.

mod executor;
mod operations;
mod running;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_tools::{BashSettings, Host as LocalExecutor, Workspace, toolset};
use serde_json::{Value, json};

use self::running::{Running, Settings};
use crate::error::NativeError;
use crate::host::Natives;

/// Running calls by number. The settings own the files with long output, which must outlive the
/// calls.
#[derive(Default)]
struct Calls {
    running: RefCell<BTreeMap<u32, Arc<Running>>>,
    bash: BashSettings,
}

impl Calls {
    fn find(&self, number: u32) -> Option<Arc<Running>> {
        self.running.borrow().get(&number).cloned()
    }
}

pub(super) const FUNCTIONS: Natives = &[
    ("declaration", |call| call.reply(declaration(&call.text(0)?)?)),
    // `start(name, settings, arguments)`.
    ("start", |call| {
        let (name, settings) = (call.text(0)?, Settings::read(call.json(1)?)?);
        let calls = call.host.area::<Calls>();
        let bash = calls.bash.clone();
        let running = Running::start(call.host, bash, &name, settings, call.json(2)?)?;
        let number = u32::try_from(call.host.number()).unwrap_or(u32::MAX);
        calls.running.borrow_mut().insert(number, Arc::new(running));
        call.reply(number)
    }),
    ("next", |call| {
        let running = call.host.area::<Calls>().find(call.id(0)?);
        call.promise(async move {
            let event = match running {
                Some(running) => running.next().await,
                None => None,
            };
            Ok(event.unwrap_or(Value::Null).into())
        })
    }),
    ("cancel", |call| {
        if let Some(running) = call.host.area::<Calls>().find(call.id(0)?) {
            running.cancel();
        }
        call.done()
    }),
    ("close", |call| {
        if let Some(running) = call.host.area::<Calls>().running.borrow_mut().remove(&call.id(0)?) {
            running.cancel();
        }
        call.done()
    }),
    // `answer(number, operation, bytes, value)`.
    ("answer", |call| {
        if let Some(running) = call.host.area::<Calls>().find(call.id(0)?) {
            running.operations.answer(call.id(1)?, call.optional_bytes(2)?, call.json(3)?);
        }
        call.done()
    }),
    // `refuse(number, operation, code, text)`.
    ("refuse", |call| {
        if let Some(running) = call.host.area::<Calls>().find(call.id(0)?) {
            running.operations.refuse(call.id(1)?, &call.text(2)?, call.text(3)?);
        }
        call.done()
    }),
    ("data", |call| {
        if let Some(running) = call.host.area::<Calls>().find(call.id(0)?) {
            running.operations.data(call.id(1)?, call.bytes(2)?);
        }
        call.done()
    }),
];

/// Returns what the model and the system prompt get to know about a built-in tool.
fn declaration(name: &str) -> Result<Value, NativeError> {
    let workspace = Workspace::new(Arc::new(LocalExecutor::default()), "/".into(), None);
    let tool = built(&Arc::new(workspace), name)?;
    let declaration = tool.declaration();
    Ok(json!({
        "name": declaration.name,
        "label": tool.label(),
        "description": declaration.description,
        "parameters": declaration.parameters,
        "constrainedSampling": declaration.constrained_sampling,
        "promptSnippet": tool.prompt_snippet(),
        "promptGuidelines": tool.prompt_guidelines(),
    }))
}

fn built(workspace: &Arc<Workspace>, name: &str) -> Result<Arc<dyn AgentTool>, NativeError> {
    let tool = toolset::find_builtin(name).and_then(|builtin| builtin.build(workspace));
    tool.ok_or_else(|| NativeError::new(format!("no built-in tool {name}")))
}
