//! Lines and components that extensions put above and below the editor.

use std::collections::BTreeMap;

use pi_coding_agent::extension::WidgetPlacement;
use pi_tui::{Component, Line, View, text};

/// The most lines of a widget that are shown.
const MAX_LINES: usize = 10;

/// Content of a widget.
pub(super) enum Widget {
    Lines(Vec<String>),
    Component(Box<dyn Component>),
}

/// The widgets, by key.
#[derive(Default)]
pub(super) struct Widgets {
    above: BTreeMap<String, Widget>,
    below: BTreeMap<String, Widget>,
}

impl Widgets {
    /// Sets or removes a widget. A widget has one place.
    pub(super) fn set(&mut self, key: String, widget: Option<Widget>, placement: WidgetPlacement) {
        self.above.remove(&key);
        self.below.remove(&key);
        if let Some(widget) = widget {
            self.at(placement).insert(key, widget);
        }
    }

    /// Returns the lines of the widgets of one place.
    pub(super) fn render(&mut self, placement: WidgetPlacement, view: View<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for widget in self.at(placement).values_mut() {
            match widget {
                Widget::Lines(texts) => {
                    let rendered = texts.iter().flat_map(|text| text::from_ansi(text));
                    let rendered = rendered.map(|line| line.indented(1, Default::default()));
                    let cut = rendered.map(|line| text::truncate(&line, view.width, "..."));
                    lines.extend(cut.take(MAX_LINES));
                }
                Widget::Component(component) => {
                    lines.extend(component.render(view).iter().take(MAX_LINES).cloned());
                }
            }
        }
        lines
    }

    fn at(&mut self, placement: WidgetPlacement) -> &mut BTreeMap<String, Widget> {
        match placement {
            WidgetPlacement::AboveEditor => &mut self.above,
            WidgetPlacement::BelowEditor => &mut self.below,
        }
    }
}
