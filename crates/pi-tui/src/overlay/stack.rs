//! The overlays that are open: their order, and the one that has the focus.

use super::place::{OverlayOptions, Rect, place};
use crate::component::{Component, View};
use crate::input::Input;
use crate::screen::{PlacedOverlay, Size};
use crate::text::Lines;

/// The number of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OverlayId(u64);

/// Overlays, the topmost last.
#[derive(Debug, Default)]
pub struct Overlays {
    overlays: Vec<Overlay>,
    count: u64,
    /// The overlay that was focused last. It has the focus while it is visible.
    focused: Option<OverlayId>,
}

struct Overlay {
    id: OverlayId,
    component: Box<dyn Component>,
    options: OverlayOptions,
    is_hidden: bool,
    /// The place in the last frame, for the mouse.
    bounds: Option<Rect>,
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, is_hidden, bounds, .. } = self;
        write!(f, "Overlay({id:?}, hidden: {is_hidden}, {bounds:?})")
    }
}

impl Overlay {
    fn is_visible(&self, size: Size) -> bool {
        !self.is_hidden && self.options.fits(size)
    }
}

impl Overlays {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens an overlay above the others. It takes the focus, unless it is passive.
    pub fn show(&mut self, component: Box<dyn Component>, options: OverlayOptions) -> OverlayId {
        self.count += 1;
        let id = OverlayId(self.count);
        self.overlays.push(Overlay { id, component, options, is_hidden: false, bounds: None });
        if !options.is_passive {
            self.focused = Some(id);
        }
        id
    }

    /// Closes an overlay. The focus returns to the topmost one that takes it.
    pub fn hide(&mut self, id: OverlayId) -> Option<Box<dyn Component>> {
        let index = self.overlays.iter().position(|overlay| overlay.id == id)?;
        self.unfocus(id);
        Some(self.overlays.remove(index).component)
    }

    /// Makes an overlay invisible for a while, or visible again.
    pub fn set_hidden(&mut self, id: OverlayId, is_hidden: bool) {
        if let Some(overlay) = self.overlays.iter_mut().find(|overlay| overlay.id == id) {
            overlay.is_hidden = is_hidden;
        }
    }

    /// Changes size and position of an overlay.
    pub fn set_options(&mut self, id: OverlayId, options: OverlayOptions) {
        if let Some(overlay) = self.overlays.iter_mut().find(|overlay| overlay.id == id) {
            overlay.options = options;
        }
    }

    /// Returns true if the overlay is hidden or closed.
    pub fn is_hidden(&self, id: OverlayId) -> bool {
        self.overlays
            .iter()
            .find(|overlay| overlay.id == id)
            .is_none_or(|overlay| overlay.is_hidden)
    }

    /// Gives an overlay the focus and moves it above the others.
    pub fn focus(&mut self, id: OverlayId) {
        if let Some(index) = self.overlays.iter().position(|overlay| overlay.id == id) {
            let overlay = self.overlays.remove(index);
            self.overlays.push(overlay);
            self.focused = Some(id);
        }
    }

    /// Takes the focus from an overlay.
    pub fn unfocus(&mut self, id: OverlayId) {
        if self.focused == Some(id) {
            self.focused = None;
        }
    }

    /// Returns the overlay that receives input: the focused one if it is visible, otherwise the
    /// topmost visible one that is not passive.
    pub fn focused(&self, size: Size) -> Option<OverlayId> {
        let mut visible = self.overlays.iter().rev().filter(|overlay| overlay.is_visible(size));
        let focused = visible.clone().find(|overlay| Some(overlay.id) == self.focused);
        focused.or_else(|| visible.find(|overlay| !overlay.options.is_passive)).map(|it| it.id)
    }

    /// Passes input to the overlay with the focus. Returns nothing if there is none, otherwise
    /// whether the input has a meaning there.
    pub fn handle(&mut self, input: &Input, size: Size) -> Option<bool> {
        let id = self.focused(size)?;
        let overlay = self.overlays.iter_mut().find(|overlay| overlay.id == id)?;
        Some(overlay.component.handle(input))
    }

    /// Returns true if no overlay is open.
    pub fn is_empty(&self) -> bool {
        self.overlays.is_empty()
    }

    /// Returns the place of an overlay in the last frame, if it was visible.
    pub fn bounds(&self, id: OverlayId) -> Option<Rect> {
        self.overlays.iter().find(|overlay| overlay.id == id)?.bounds
    }

    /// Renders the visible overlays for the whole terminal, the topmost last. Only the one with the
    /// focus has a caret.
    pub fn render(&mut self, view: View<'_>) -> Vec<PlacedOverlay> {
        let size = Size::new(view.width, view.rows);
        let focused = self.focused(size);
        let mut placed = Vec::new();
        for overlay in &mut self.overlays {
            overlay.bounds = None;
            if !overlay.is_visible(size) {
                continue;
            }
            let content = overlay.component.render(view.with_width(overlay.options.columns(size)));
            let rect = place(&overlay.options, size, content.len());
            overlay.bounds = Some(rect);
            let lines = shown(content, rect.height, focused == Some(overlay.id));
            let Rect { row, column, width, .. } = rect;
            placed.push(PlacedOverlay { row, column, width, lines });
        }
        placed
    }
}

/// Returns the lines that are shown of some content.
fn shown(content: Lines, height: usize, has_focus: bool) -> Lines {
    let has_caret = content.iter().any(|line| line.caret.is_some());
    if content.len() <= height && (has_focus || !has_caret) {
        return content;
    }
    let mut lines: Vec<_> = content.iter().take(height).cloned().collect();
    for line in lines.iter_mut().filter(|_| !has_focus) {
        line.caret = None;
    }
    lines.into()
}
