//! Components of extensions: shown instead of the editor or above the screen, or put into a slot.

use std::cell::RefCell;
use std::sync::Arc;

use pi_coding_agent::extension::{
    ComponentFactory, ComponentMessage, ComponentSlot, CustomOptions, ExtensionUi, InputDecision,
    InputSubscription,
};
use rquickjs::{Ctx, Function, IntoJs as _, Object};

use super::ui_of;
use super::updates::placement;
use crate::component::{self, ComponentId, Link};
use crate::error::NativeError;
use crate::host::{ExtensionId, Host};
use crate::thread::WeakJsThread;
use crate::value::Json;

pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    object.set("showCustom", show_custom(ctx, host)?)?;
    object.set("mount", mount(ctx, host)?)?;
    object.set("send", send(ctx, host)?)?;
    object.set("listenToInput", listen_to_input(ctx, host)?)?;
    let state = host.clone();
    // `requestRender()`: a frame in which all components are drawn again.
    object.set("requestRender", Function::new(ctx.clone(), move || state.shown.redraw())?)?;
    let state = host.clone();
    // `suspend(id, isSuspended)`: gives the terminal to another program, or takes it back.
    object.set(
        "suspend",
        Function::new(ctx.clone(), move |id: ExtensionId, is_suspended: bool| {
            let Some(ui) = ui_of(&state, id) else { return };
            match is_suspended {
                true => ui.interface().suspend(),
                false => ui.interface().resume(),
            }
        })?,
    )?;
    let state = host.clone();
    object.set(
        "forget",
        Function::new(ctx.clone(), move |number: ComponentId| state.shown.remove(number))?,
    )
}

/// Makes `showCustom(id, number, options)`: a promise that resolves when the component is closed.
fn show_custom<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, id: ExtensionId, number: ComponentId, options: Json| {
            let shown = ui_of(&host, id).zip(linked(&host, id, number));
            let options = CustomOptions {
                overlay: options.0["overlay"].as_bool() == Some(true),
                overlay_options: options.0.get("overlayOptions").cloned(),
            };
            host.promise_on_main(&ctx, async move {
                if let Some((ui, factory)) = shown {
                    ui.custom(factory, options).await;
                }
                Ok(())
            })
        },
    )
}

/// Makes `mount(id, slot, number, key, placement)`; without a number the slot is restored.
fn mount<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>,
              id: ExtensionId,
              slot: String,
              number: Option<ComponentId>,
              key: Option<String>,
              place: Option<String>| {
            let slot = match slot.as_str() {
                "header" => ComponentSlot::Header,
                "footer" => ComponentSlot::Footer,
                "editor" => ComponentSlot::Editor,
                "widget" => ComponentSlot::Widget {
                    key: key.unwrap_or_default(),
                    placement: place.as_deref().map(placement).unwrap_or_default(),
                },
                _ => return Err(NativeError::new("unknown slot").throw(&ctx)),
            };
            let factory = number.and_then(|number| linked(&host, id, number));
            if let Some(ui) = ui_of(&host, id) {
                ui.mount(slot, factory);
            }
            Ok(())
        },
    )
}

fn linked(host: &Host, id: ExtensionId, number: ComponentId) -> Option<ComponentFactory> {
    let thread = host.with_extension(id, |extension| extension.thread.clone())?;
    let link = Link::default();
    host.shown.insert(number, link.clone());
    Some(component::factory(thread, number, link))
}

/// Makes `send(number, message, value)`: a message of a component to its screen.
fn send<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(ctx.clone(), move |number: ComponentId, message: String, value: Json| {
        let value = value.0;
        let flag = value.as_bool() == Some(true);
        let text = || value.as_str().unwrap_or_default().to_owned();
        let message = match message.as_str() {
            "redraw" => ComponentMessage::Redraw,
            "done" => component::done(),
            "submit" => ComponentMessage::Done(text().into()),
            "hidden" => ComponentMessage::SetHidden(flag),
            "focused" => ComponentMessage::SetFocused(flag),
            "options" => ComponentMessage::SetOptions(value),
            "text" => ComponentMessage::TextChanged(text()),
            "action" => ComponentMessage::Action(text()),
            _ => return,
        };
        host.shown.send(number, message);
    })
}

/// Makes `listenToInput(id, isListening)`: raw input is shown to `js/pi/components.js` first.
fn listen_to_input<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    let subscription: RefCell<Option<InputSubscription>> = RefCell::default();
    Function::new(ctx.clone(), move |id: ExtensionId, is_listening: bool| {
        let thread = host.with_extension(id, |extension| extension.thread.clone());
        let ui = ui_of(&host, id).filter(|_| is_listening);
        let listen = |(ui, thread): (ExtensionUi, WeakJsThread)| {
            ui.interface().on_terminal_input(Arc::new(move |data| decide(&thread, data)))
        };
        let new = ui.zip(thread).map(listen);
        *subscription.borrow_mut() = new;
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
