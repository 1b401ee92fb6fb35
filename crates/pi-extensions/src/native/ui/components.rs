//! Components of extensions: shown instead of the editor or above the screen, or put into a slot.

use std::cell::RefCell;
use std::sync::Arc;

use pi_coding_agent::extension::{
    ComponentFactory, ComponentMessage, ComponentSlot, CustomOptions, InputDecision,
    InputSubscription,
};
use rquickjs::IntoJs as _;
use serde_json::Value;

use super::ui_of;
use super::updates::placement;
use crate::component;
use crate::error::NativeError;
use crate::host::{ComponentId, ExtensionId, Host, Link, Natives, WeakJsThread};
use crate::value::Plain;

/// The listener to raw input, if the extensions have one.
type Input = RefCell<Option<InputSubscription>>;

pub(super) const FUNCTIONS: Natives = &[
    // `showCustom(id, number, options)`: a promise that resolves when the component is closed.
    ("showCustom", |call| {
        let (id, number, options) = (call.id(0)?, call.id(1)?, call.json(2)?);
        let shown = ui_of(call.host, id).zip(linked(call.host, id, number));
        let options = CustomOptions {
            overlay: options["overlay"].as_bool() == Some(true),
            overlay_options: options.get("overlayOptions").cloned(),
        };
        call.promise_on_main(async move {
            if let Some((ui, factory)) = shown {
                ui.custom(factory, options).await;
            }
            Ok(Plain::Nothing)
        })
    }),
    // `mount(id, slot, number, key, placement)`; without a number the slot is restored.
    ("mount", |call| {
        let (id, number) = (call.id(0)?, call.optional_id(2)?);
        let (key, place) = (call.optional_text(3)?, call.optional_text(4)?);
        let slot = match call.text(1)?.as_str() {
            "header" => ComponentSlot::Header,
            "footer" => ComponentSlot::Footer,
            "editor" => ComponentSlot::Editor,
            "widget" => ComponentSlot::Widget {
                key: key.unwrap_or_default(),
                placement: place.as_deref().map(placement).unwrap_or_default(),
            },
            _ => return Err(NativeError::new("unknown slot").into()),
        };
        let factory = number.and_then(|number| linked(call.host, id, number));
        if let Some(ui) = ui_of(call.host, id) {
            ui.mount(slot, factory);
        }
        call.done()
    }),
    // `send(number, message, value)`: a message of a component to its screen.
    ("send", |call| {
        if let Some(message) = message(&call.text(1)?, call.json(2)?) {
            call.host.shown.send(call.id(0)?, message);
        }
        call.done()
    }),
    // `listenToInput(id, isListening)`: raw input is shown to `js/pi/components.js` first.
    ("listenToInput", |call| {
        let (id, is_listening) = (call.id(0)?, call.flag(1)?);
        let thread = call.host.with_extension(id, |extension| extension.thread.clone());
        let ui = if is_listening { ui_of(call.host, id) } else { None };
        let new = ui.zip(thread).map(|(ui, thread)| {
            ui.interface().on_terminal_input(Arc::new(move |data| decide(&thread, data)))
        });
        *call.host.area::<Input>().borrow_mut() = new;
        call.done()
    }),
    // `requestRender()`: a frame in which all components are drawn again.
    ("requestRender", |call| {
        call.host.shown.redraw();
        call.done()
    }),
    // `suspend(id, isSuspended)`: gives the terminal to another program, or takes it back.
    ("suspend", |call| {
        let is_suspended = call.flag(1)?;
        if let Some(ui) = ui_of(call.host, call.id(0)?) {
            match is_suspended {
                true => ui.interface().suspend(),
                false => ui.interface().resume(),
            }
        }
        call.done()
    }),
    ("forget", |call| {
        call.host.shown.remove(call.id(0)?);
        call.done()
    }),
];

fn linked(host: &Host, id: ExtensionId, number: ComponentId) -> Option<ComponentFactory> {
    let thread = host.with_extension(id, |extension| extension.thread.clone())?;
    let link = Link::default();
    host.shown.insert(number, link.clone());
    Some(component::factory(thread, number, link))
}

/// Reads a message of a component. An unknown one is dropped.
fn message(name: &str, value: Value) -> Option<ComponentMessage> {
    let flag = value.as_bool() == Some(true);
    let text = || value.as_str().unwrap_or_default().to_owned();
    Some(match name {
        "redraw" => ComponentMessage::Redraw,
        "done" => component::done(),
        "submit" => ComponentMessage::Done(text().into()),
        "hidden" => ComponentMessage::SetHidden(flag),
        "focused" => ComponentMessage::SetFocused(flag),
        "options" => ComponentMessage::SetOptions(value),
        "text" => ComponentMessage::TextChanged(text()),
        "action" => ComponentMessage::Action(text()),
        _ => return None,
    })
}

/// Asks the listeners. Input passes if they do not answer in time.
fn decide(thread: &WeakJsThread, data: &str) -> InputDecision {
    let input = data.to_owned();
    let answer = thread.upgrade().and_then(|thread| {
        thread.call_for_screen(move |ctx, host| {
            component::call(ctx, host, "terminalInput", vec![input.into_js(ctx)?])?
                .get::<Option<String>>()
        })
    });
    match answer {
        Some(Ok(None)) => InputDecision::Consume,
        Some(Ok(Some(changed))) if changed != data => InputDecision::Replace(changed),
        _ => InputDecision::Pass,
    }
}
