//! Arranges a flowchart in layers and draws it.
//!
//! Each node is in the layer after the last of those that lead to it. An edge over several layers
//! passes through each of them at a place of its own. Within a layer, nodes are ordered and placed
//! by the average of their neighbors. Positions are measured along the direction of the chart
//! (`main`) and across it (`cross`), so that both directions share everything but the last step.
//!
//! What leads back or surrounds the layers is drawn by `around`.

use super::canvas::{Canvas, DOWN, LEFT, Owner, RIGHT, UP};
use super::flowchart::Chart;
use super::ranks::{self, Ranks};
use crate::text;
use crate::theme::Token;

/// Passes that order and place the nodes of a layer.
const PASSES: usize = 6;
/// Places of edges and nodes that are laid out.
pub(super) const PLACE_LIMIT: usize = 600;

/// The direction of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Right,
    Down,
}

impl Direction {
    /// Returns the direction that has this name in Mermaid.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "LR" => Some(Self::Right),
            "TD" | "TB" => Some(Self::Down),
            _ => None,
        }
    }
}

/// A node, or the place at which an edge passes through a layer.
#[derive(Debug)]
pub(super) struct Place {
    /// The node, unless an edge passes here.
    pub(super) node: Option<usize>,
    /// The label of the edge that passes here.
    label: Option<String>,
    pub(super) layer: usize,
    /// Columns or rows across the direction.
    pub(super) extent: usize,
    pub(super) center: i64,
    /// Columns that a label needs beside the line to this place, or beside its box.
    pub(super) label_room: usize,
}

/// A part of an edge between two places in neighboring layers.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) edge: usize,
    label: String,
    has_arrow: bool,
}

/// Draws a chart. Returns nothing if lines would be ambiguous.
pub(super) fn draw(chart: &Chart, direction: Direction) -> Option<Canvas> {
    let ranks = ranks::of(chart)?;
    // Labels stand beside the lines, or, where that is not clear, in layers of their own.
    [false, true].into_iter().find_map(|has_label_layers| {
        let mut layout = Layout::new(chart, &ranks, direction, has_label_layers)?;
        layout.place(chart);
        layout.draw(chart)
    })
}

pub(super) struct Layout {
    pub(super) direction: Direction,
    pub(super) places: Vec<Place>,
    pub(super) links: Vec<Link>,
    layers: Vec<Vec<usize>>,
    /// Labels stand in layers of their own.
    has_label_layers: bool,
    /// The edges that lead back.
    pub(super) back: Vec<usize>,
    /// The first and the last layer of each subgraph.
    pub(super) frames: Vec<(usize, usize)>,
}

impl Layout {
    fn new(
        chart: &Chart,
        ranks: &Ranks,
        direction: Direction,
        has_label_layers: bool,
    ) -> Option<Self> {
        // Between two layers of nodes is one for labels.
        let scale = if has_label_layers { 2 } else { 1 };
        let layers: Vec<usize> = ranks.layers.iter().map(|layer| layer * scale).collect();
        let frames = ranks.subgraphs.iter().map(|(first, last)| (first * scale, last * scale));
        let mut layout = Self {
            direction,
            places: Vec::new(),
            links: Vec::new(),
            layers: vec![Vec::new(); ((ranks.count - 1) * scale) + 1],
            has_label_layers,
            back: Vec::new(),
            frames: frames.collect(),
        };
        for (node, layer) in layers.iter().enumerate() {
            let extent = match direction {
                Direction::Right => 3,
                Direction::Down => text::width(&chart.nodes.get(node)?.label) + 4,
            };
            layout.add(Some(node), *layer, extent)?;
        }
        for (index, edge) in chart.edges.iter().enumerate() {
            let (first, last) = (*layers.get(edge.from)?, *layers.get(edge.to)?);
            if first >= last {
                layout.add_back(index, edge.from, edge.to, &edge.label)?;
                continue;
            }
            let (mut from, mut label) = (edge.from, edge.label.clone());
            for layer in first + 1..=last {
                let is_end = layer == last;
                let to = if is_end { edge.to } else { layout.add(None, layer, 1)? };
                let has_arrow = is_end && edge.has_arrow;
                let mut label = std::mem::take(&mut label);
                if has_label_layers && !label.is_empty() {
                    let place = layout.places.get_mut(to)?;
                    if direction == Direction::Down {
                        place.extent = text::width(&label) + 2;
                    }
                    place.label = Some(std::mem::take(&mut label));
                }
                if direction == Direction::Down {
                    let place = layout.places.get_mut(to)?;
                    place.label_room = place.label_room.max(text::width(&label));
                }
                layout.links.push(Link { from, to, edge: index, label, has_arrow });
                from = to;
            }
        }
        Some(layout)
    }

    /// Adds an edge that leads back. One that leads to its own node is a mark beside the box.
    fn add_back(&mut self, edge: usize, from: usize, to: usize, label: &str) -> Option<()> {
        self.back.push(edge);
        if from == to {
            let place = self.places.get_mut(from)?;
            place.label_room = place.label_room.max(text::width(label) + 4);
        }
        Some(())
    }

    fn add(&mut self, node: Option<usize>, layer: usize, extent: usize) -> Option<usize> {
        let at = self.places.len();
        self.places.push(Place { node, label: None, layer, extent, center: 0, label_room: 0 });
        self.layers.get_mut(layer)?.push(at);
        (at < PLACE_LIMIT).then_some(at)
    }

    /// Orders the layers and gives every place a center.
    fn place(&mut self, chart: &Chart) {
        for layer in 0..self.layers.len() {
            self.spread(layer, &|_| None);
        }
        for pass in 0..PASSES {
            let is_forward = pass % 2 == 0;
            let mut order: Vec<usize> = (0..self.layers.len()).collect();
            if !is_forward {
                order.reverse();
            }
            for layer in order {
                let wanted: Vec<Option<i64>> = (0..self.places.len())
                    .map(|place| self.average_of_neighbors(place, is_forward))
                    .collect();
                let wish = |place: usize| wanted.get(place).copied().flatten();
                if pass < PASSES - 2 {
                    self.order(layer, &wish);
                }
                self.spread(layer, &wish);
            }
        }
        let edge = |place: &Place| place.center - (place.extent / 2) as i64;
        let first = self.places.iter().map(edge).min().unwrap_or(0) - self.margin(chart);
        self.places.iter_mut().for_each(|place| place.center -= first);
    }

    fn average_of_neighbors(&self, place: usize, is_forward: bool) -> Option<i64> {
        let neighbors: Vec<i64> = self
            .links
            .iter()
            .filter(|link| if is_forward { link.to == place } else { link.from == place })
            .filter_map(|link| self.places.get(if is_forward { link.from } else { link.to }))
            .map(|place| place.center)
            .collect();
        let count = i64::try_from(neighbors.len()).ok().filter(|count| *count > 0)?;
        Some(neighbors.iter().sum::<i64>().div_euclid(count))
    }

    fn order(&mut self, layer: usize, wish: &dyn Fn(usize) -> Option<i64>) {
        let Self { layers, places, .. } = self;
        if let Some(layer) = layers.get_mut(layer) {
            let key = |place: &usize| {
                wish(*place).or_else(|| places.get(*place).map(|place| place.center))
            };
            layer.sort_by_key(key);
        }
    }

    /// Places a layer near its wishes, without overlaps.
    fn spread(&mut self, layer: usize, wish: &dyn Fn(usize) -> Option<i64>) {
        let Some(layer) = self.layers.get(layer).cloned() else { return };
        let mut before: Option<usize> = None;
        let (mut moved, mut count) = (0, 0);
        for place in layer.iter().copied() {
            let least = before.map(|before| self.center(before) + self.distance(before, place));
            let wanted = wish(place).unwrap_or_else(|| self.center(place));
            let center = least.map_or(wanted, |least| wanted.max(least));
            moved += wanted - center;
            count += 1;
            if let Some(place) = self.places.get_mut(place) {
                place.center = center;
            }
            before = Some(place);
        }
        // What was pushed away from its wish is shared by the whole layer.
        let shift = if count > 0 { i64::div_euclid(moved, count) } else { 0 };
        for place in layer {
            if let Some(place) = self.places.get_mut(place) {
                place.center += shift;
            }
        }
    }

    pub(super) fn center(&self, place: usize) -> i64 {
        self.places.get(place).map_or(0, |place| place.center)
    }

    fn distance(&self, before: usize, place: usize) -> i64 {
        let (Some(before), Some(place)) = (self.places.get(before), self.places.get(place)) else {
            return 0;
        };
        let room = before.extent / 2 + place.extent / 2 + 2;
        room.max(before.label_room + 3) as i64
    }

    fn draw(&self, chart: &Chart) -> Option<Canvas> {
        let spans = self.spans(chart);
        let gaps: Vec<Gap> = (0..self.layers.len()).map(|layer| self.gap(layer)).collect();
        let mut starts = Vec::new();
        let mut main = self.frame_before(0);
        for (span, gap) in spans.iter().zip(&gaps) {
            starts.push(main);
            main += span + gap.size;
        }
        let cross = self
            .places
            .iter()
            .map(|place| place.center as usize + place.extent / 2 + place.label_room + 3)
            .max()?;
        let main = main + self.frame_after(self.layers.len().checked_sub(1)?);
        let cross = cross + self.room_for_frames(chart);
        let (width, height) = self.point(main, cross + self.room_beside(chart));
        let mut canvas = Canvas::new(width, height)?;
        for (layer, gap) in gaps.iter().enumerate() {
            let (start, span) = (*starts.get(layer)?, *spans.get(layer)?);
            self.draw_links(&mut canvas, layer, gap, start + span)?;
            self.draw_places(&mut canvas, chart, layer, start, span)?;
        }
        self.draw_ends(&mut canvas, &gaps, &starts, &spans, chart)?;
        self.draw_around(&mut canvas, chart, &starts, &spans, cross)?;
        (!canvas.is_ambiguous()).then_some(canvas)
    }

    /// Returns the extent of each layer along the direction.
    fn spans(&self, chart: &Chart) -> Vec<usize> {
        let span = |place: &usize| match self.places.get(*place).and_then(|place| place.node) {
            None if self.direction == Direction::Down => 1,
            None => {
                let label = self.places.get(*place).and_then(|place| place.label.as_ref());
                label.map_or(1, |label| text::width(label) + 4)
            }
            Some(_) if self.direction == Direction::Down => 3,
            Some(node) => chart.nodes.get(node).map_or(1, |node| text::width(&node.label) + 4),
        };
        self.layers.iter().map(|layer| layer.iter().map(span).max().unwrap_or(1)).collect()
    }

    /// Assigns tracks to the links that leave a layer: lines across the direction, one for each
    /// source whose links are not straight.
    fn gap(&self, layer: usize) -> Gap {
        let mut tracks: Vec<Vec<(i64, i64)>> = Vec::new();
        let mut track_of = Vec::new();
        for place in self.layers.get(layer).into_iter().flatten().copied() {
            let ends = self.links.iter().filter(|link| link.from == place);
            let mut range = (self.center(place), self.center(place));
            for link in ends {
                let end = self.center(link.to);
                range = (range.0.min(end), range.1.max(end));
            }
            if range.0 == range.1 {
                track_of.push((place, 0));
                continue;
            }
            let is_free = |track: &Vec<(i64, i64)>| {
                track.iter().all(|used| used.1 < range.0 || range.1 < used.0)
            };
            let track = tracks.iter().position(is_free).unwrap_or_else(|| {
                tracks.push(Vec::new());
                tracks.len() - 1
            });
            if let Some(track) = tracks.get_mut(track) {
                track.push(range);
            }
            track_of.push((place, track));
        }
        let is_here =
            |link: &&Link| self.places.get(link.from).is_some_and(|place| place.layer == layer);
        let links = || self.links.iter().filter(is_here);
        let labels = links().map(|link| text::width(&link.label)).max().unwrap_or(0);
        let arrow = usize::from(links().any(|link| link.has_arrow));
        let is_last = layer + 1 == self.layers.len();
        let tracks = tracks.len().max(1);
        let size = match self.direction {
            _ if is_last => 0,
            Direction::Right if self.has_label_layers => tracks + 1 + arrow,
            Direction::Right => (tracks + labels + 2).max(6),
            Direction::Down if self.has_label_layers => tracks + arrow,
            Direction::Down => tracks + 2,
        };
        let lead = if is_last { 0 } else { self.frame_after(layer) };
        let size = size + if is_last { 0 } else { lead + self.frame_before(layer + 1) };
        Gap { size, lead, tracks, track_of }
    }

    /// Returns the column and the row of a position.
    pub(super) fn point(&self, main: usize, cross: usize) -> (usize, usize) {
        match self.direction {
            Direction::Right => (main, cross),
            Direction::Down => (cross, main),
        }
    }

    fn draw_links(&self, canvas: &mut Canvas, layer: usize, gap: &Gap, start: usize) -> Option<()> {
        let is_right = self.direction == Direction::Right;
        for link in &self.links {
            if self.places.get(link.from)?.layer != layer {
                continue;
            }
            let owner = Owner { source: link.from, target: link.to };
            let (from, to) = (self.center(link.from) as usize, self.center(link.to) as usize);
            let track =
                start + gap.lead + gap.track_of.iter().find(|(place, _)| *place == link.from)?.1;
            let end = start + gap.size - 1;
            canvas.line(self.point(start, from), self.point(track, from), owner)?;
            canvas.line(self.point(track, from), self.point(track, to), owner)?;
            canvas.line(self.point(track, to), self.point(end, to), owner)?;
            // The line continues into what is before and after the gap.
            let (back, ahead) = if is_right { (LEFT, RIGHT) } else { (UP, DOWN) };
            let (x, y) = self.point(start, from);
            canvas.add_lines(x, y, back, owner, is_right)?;
            let (x, y) = self.point(end, to);
            canvas.add_lines(x, y, ahead, owner, is_right)?;
        }
        for link in &self.links {
            if self.places.get(link.from)?.layer != layer || link.label.is_empty() {
                continue;
            }
            // Edges that meet before their target share its label.
            if self.links.iter().any(|other| other.to == link.to && other.label != link.label) {
                return None;
            }
            let to = self.center(link.to) as usize;
            let (x, y) = match self.direction {
                Direction::Right => (start + gap.lead + gap.tracks, to.checked_sub(1)?),
                Direction::Down => (to + 1, start + gap.lead + gap.tracks),
            };
            let width = text::width(&link.label);
            if !canvas.is_free(x, y, width) {
                return None;
            }
            canvas.text(x, y, &link.label, Token::Muted);
        }
        Some(())
    }

    fn draw_places(
        &self,
        canvas: &mut Canvas,
        chart: &Chart,
        layer: usize,
        start: usize,
        span: usize,
    ) -> Option<()> {
        for at in self.layers.get(layer)?.iter().copied() {
            let place = self.places.get(at)?;
            let cross = usize::try_from(place.center).ok()?;
            match place.node {
                Some(node) => {
                    let node = chart.nodes.get(node)?;
                    let (x, y) = self.point(start, cross - place.extent / 2);
                    canvas.labeled_box(x, y, &node.label, node.is_round);
                }
                None => {
                    let edge = self.links.iter().find(|link| link.to == at)?.edge;
                    // Numbers beyond those of places: this line is shared with no other.
                    let owner = Owner { source: PLACE_LIMIT + edge, target: PLACE_LIMIT + edge };
                    let (first, last) =
                        (self.point(start, cross), self.point(start + span - 1, cross));
                    canvas.line(first, last, owner)?;
                    let is_right = self.direction == Direction::Right;
                    let (back, ahead) = if is_right { (LEFT, RIGHT) } else { (UP, DOWN) };
                    canvas.add_lines(first.0, first.1, back, owner, is_right)?;
                    canvas.add_lines(last.0, last.1, ahead, owner, is_right)?;
                    if let Some(label) = &place.label {
                        let room = text::width(label) + 2;
                        let (x, y) = match self.direction {
                            Direction::Right => self.point(start + (span - room) / 2, cross),
                            Direction::Down => self.point(start, cross.checked_sub(room / 2)?),
                        };
                        canvas.text(x, y, &format!(" {label} "), Token::Muted);
                    }
                }
            }
        }
        Some(())
    }

    /// Draws where edges leave boxes, the lines beside boxes that are narrower than their layer,
    /// and arrows.
    fn draw_ends(
        &self,
        canvas: &mut Canvas,
        gaps: &[Gap],
        starts: &[usize],
        spans: &[usize],
        chart: &Chart,
    ) -> Option<()> {
        let (port, arrow) = match self.direction {
            Direction::Right => ("├", "▶"),
            Direction::Down => ("┬", "▼"),
        };
        for link in &self.links {
            let from = self.places.get(link.from)?;
            let cross = usize::try_from(from.center).ok()?;
            let (start, span) = (*starts.get(from.layer)?, *spans.get(from.layer)?);
            if let Some(node) = from.node {
                let length = match self.direction {
                    Direction::Right => text::width(&chart.nodes.get(node)?.label) + 4,
                    Direction::Down => 3,
                };
                let owner = Owner { source: link.from, target: link.to };
                if length < span {
                    let (first, last) =
                        (self.point(start + length, cross), self.point(start + span - 1, cross));
                    canvas.line(first, last, owner)?;
                    let is_right = self.direction == Direction::Right;
                    let both = if is_right { LEFT | RIGHT } else { UP | DOWN };
                    canvas.add_lines(first.0, first.1, both, owner, is_right)?;
                    canvas.add_lines(last.0, last.1, both, owner, is_right)?;
                }
                let (x, y) = self.point(start + length - 1, cross);
                canvas.text(x, y, port, Token::BorderMuted);
            }
            if link.has_arrow {
                let gap = gaps.get(from.layer)?;
                let end = start + span + gap.size - 1;
                let to = usize::try_from(self.center(link.to)).ok()?;
                let (x, y) = self.point(end, to);
                canvas.text(x, y, arrow, Token::Accent);
            }
        }
        Some(())
    }
}

/// The space between two layers.
struct Gap {
    size: usize,
    /// Space before the tracks.
    lead: usize,
    tracks: usize,
    /// The track of each place before the gap.
    track_of: Vec<(usize, usize)>,
}
