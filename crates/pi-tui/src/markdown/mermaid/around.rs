//! What leads back or surrounds the layers of a chart: edges that close a cycle, drawn beside the
//! layers, and the frames of subgraphs.

use super::canvas::{Canvas, Owner};
use super::flowchart::{Chart, Edge};
use super::layers::{Direction, Layout, PLACE_LIMIT};
use crate::text;
use crate::theme::Token;

/// Cells between a box and the frame around it.
const PADDING: usize = 1;
/// Cells that an edge beside the layers needs.
const LANE: usize = 2;
/// Numbers of owners for edges that lead back: beyond those of places and edges.
const BACK: usize = 2 * PLACE_LIMIT;

/// A box: its first and last column and row.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: usize,
    right: usize,
    top: usize,
    bottom: usize,
}

impl Layout {
    /// Returns the space across the direction before the first place.
    pub(super) fn margin(&self, chart: &Chart) -> i64 {
        let frame = if self.frames.is_empty() { 0 } else { PADDING + 1 };
        (frame + self.room_beside(chart)) as i64
    }

    /// Returns the space across the direction for edges beside the layers.
    pub(super) fn room_beside(&self, chart: &Chart) -> usize {
        if self.back.is_empty() {
            return 0;
        }
        let edges = self.back.iter().filter_map(|edge| chart.edges.get(*edge));
        let label = edges.map(|edge| text::width(&edge.label)).max().unwrap_or(0);
        self.lanes() + label + 4
    }

    /// Returns the space across the direction after the last place for frames with their titles.
    pub(super) fn room_for_frames(&self, chart: &Chart) -> usize {
        let titles = chart.subgraphs.iter().map(|one| text::width(&one.title) + 6);
        titles.max().unwrap_or(0)
    }

    fn lanes(&self) -> usize {
        self.back.len() * LANE
    }

    /// Returns the space along the direction before a layer for the frame that begins there.
    pub(super) fn frame_before(&self, layer: usize) -> usize {
        let begins = self.frames.iter().any(|(first, _)| *first == layer);
        match (begins, layer) {
            (false, _) => 0,
            // Nothing else is before the first layer.
            (true, 0) => PADDING + 1,
            (true, _) => PADDING,
        }
    }

    /// Returns the space along the direction after a layer for the frame that ends there.
    pub(super) fn frame_after(&self, layer: usize) -> usize {
        usize::from(self.frames.iter().any(|(_, last)| *last == layer))
    }

    /// Draws edges that lead back, and frames. `cross` is the end of the layers.
    pub(super) fn draw_around(
        &self,
        canvas: &mut Canvas,
        chart: &Chart,
        starts: &[usize],
        spans: &[usize],
        cross: usize,
    ) -> Option<()> {
        let mut back: Vec<&Edge> =
            self.back.iter().filter_map(|edge| chart.edges.get(*edge)).collect();
        // Short ones are inside of long ones.
        back.sort_by_key(|edge| {
            let layer = |node: usize| self.places.get(node).map_or(0, |place| place.layer);
            layer(edge.from).abs_diff(layer(edge.to))
        });
        let has_out = |node: usize| back.iter().any(|edge| edge.from == node && edge.to != node);
        let has_in = |node: usize| back.iter().any(|edge| edge.to == node && edge.from != node);
        let crowded: Vec<usize> =
            (0..chart.nodes.len()).filter(|node| has_out(*node) && has_in(*node)).collect();
        for (lane, edge) in back.iter().enumerate() {
            let from = self.area(chart, edge.from, starts)?;
            if edge.from == edge.to {
                self.draw_loop(canvas, edge, from)?;
                continue;
            }
            let to = self.area(chart, edge.to, starts)?;
            let is_crowded = crowded.contains(&edge.from);
            // Edges of one source, or to one target, share a line as those between the layers do.
            let owner = Owner { source: BACK + edge.from, target: BACK + edge.to };
            let before = canvas.clone();
            let after = cross + lane * LANE;
            let drawn = self.draw_back(canvas, edge, (from, to), (after, false), is_crowded, owner);
            if drawn.is_none() {
                *canvas = before;
                let lane = self.lanes().checked_sub(lane * LANE + 1)?;
                self.draw_back(canvas, edge, (from, to), (lane, true), is_crowded, owner)?;
            }
        }
        // Last, because a frame shows which lines cross it.
        for (subgraph, (first, last)) in self.frames.iter().enumerate() {
            let begin = starts.get(*first)?.checked_sub(PADDING + 1)?;
            let end = starts.get(*last)? + spans.get(*last)?;
            let title = &chart.subgraphs.get(subgraph)?.title;
            self.draw_frame(canvas, chart, subgraph, (begin, end), title)?;
        }
        Some(())
    }

    /// Returns the cells of the box of a node.
    fn area(&self, chart: &Chart, node: usize, starts: &[usize]) -> Option<Area> {
        let place = self.places.get(node)?;
        let width = text::width(&chart.nodes.get(node)?.label) + 4;
        let start = *starts.get(place.layer)?;
        let cross = usize::try_from(place.center).ok()?.checked_sub(place.extent / 2)?;
        let (left, top) = self.point(start, cross);
        Some(Area { left, right: left + width - 1, top, bottom: top + 2 })
    }

    /// Draws an edge from a node to itself.
    fn draw_loop(&self, canvas: &mut Canvas, edge: &Edge, area: Area) -> Option<()> {
        let text = format!("↺ {}", edge.label);
        let (x, y) = match self.direction {
            Direction::Right => (area.left + 1, area.bottom + 1),
            Direction::Down => (area.right + 2, area.top + 1),
        };
        let text = text.trim_end();
        canvas.is_free(x, y, text::width(text)).then(|| canvas.text(x, y, text, Token::Accent))
    }

    /// Draws an edge that leaves its box across the direction, goes back in a lane beside the
    /// layers, and enters the other box from the same side.
    fn draw_back(
        &self,
        canvas: &mut Canvas,
        edge: &Edge,
        (from, to): (Area, Area),
        (lane, is_before): (usize, bool),
        is_crowded: bool,
        owner: Owner,
    ) -> Option<()> {
        let label = match edge.label.is_empty() {
            true => String::new(),
            false => format!(" {} ", edge.label),
        };
        let width = text::width(&label);
        if self.direction == Direction::Right {
            // One line leaves at the end of a box, the other enters at its beginning.
            let (out, into) = (from.right.checked_sub(1)?, to.left + 1);
            let edge_of = |area: Area| if is_before { area.top } else { area.bottom };
            let (start, end) = match is_before {
                true => (from.top.checked_sub(1)?, to.top.checked_sub(1)?),
                false => (from.bottom + 1, to.bottom + 1),
            };
            canvas.line((out, start), (out, lane), owner)?;
            canvas.line((out, lane), (into, lane), owner)?;
            canvas.line((into, lane), (into, end), owner)?;
            canvas.text(out, edge_of(from), if is_before { "┴" } else { "┬" }, Token::BorderMuted);
            if edge.has_arrow {
                canvas.text(into, end, if is_before { "▼" } else { "▲" }, Token::Accent);
            }
            if label.is_empty() {
                return Some(());
            }
            let (first, last) = (out.min(into) + 1, out.max(into));
            let room = last.checked_sub(first + width)?;
            return canvas.label(first + room / 2, lane, &label);
        }
        // The room for labels is between the layers and the lanes.
        let lane = if is_before { lane } else { lane + width };
        let port = if is_crowded { from.top } else { from.top + 1 };
        let arrive = to.top + 1;
        let (start, end) = match is_before {
            true => (from.left.checked_sub(1)?, to.left.checked_sub(1)?),
            false => (from.right + 1, to.right + 1),
        };
        canvas.line((start, port), (lane, port), owner)?;
        canvas.line((lane, port), (lane, arrive), owner)?;
        canvas.line((lane, arrive), (end, arrive), owner)?;
        let (side, sign) = match (is_before, is_crowded) {
            (true, true) => (from.left, "┬"),
            (true, false) => (from.left, "┤"),
            (false, true) => (from.right, "┬"),
            (false, false) => (from.right, "├"),
        };
        canvas.text(side, port, sign, Token::BorderMuted);
        if edge.has_arrow {
            canvas.text(end, arrive, if is_before { "▶" } else { "◀" }, Token::Accent);
        }
        if label.is_empty() {
            return Some(());
        }
        // Beside the lane, where the line leaves, or where it arrives.
        let at = if is_before { lane + 1 } else { lane.checked_sub(width)? };
        canvas.label(at, port, &label).or_else(|| canvas.label(at, arrive, &label))
    }

    /// Draws the frame of a subgraph between two positions along the direction.
    fn draw_frame(
        &self,
        canvas: &mut Canvas,
        chart: &Chart,
        subgraph: usize,
        (begin, end): (usize, usize),
        title: &str,
    ) -> Option<()> {
        let is_node_inside =
            |node: usize| chart.nodes.get(node).is_some_and(|node| node.subgraph == Some(subgraph));
        let edge_of = |at: usize| {
            let link = self.links.iter().find(|link| link.to == at)?;
            chart.edges.get(link.edge)
        };
        let is_inside = |(at, place): &(usize, &super::layers::Place)| match place.node {
            Some(node) => is_node_inside(node),
            None => edge_of(*at)
                .is_some_and(|edge| is_node_inside(edge.from) && is_node_inside(edge.to)),
        };
        let inside = || self.places.iter().enumerate().filter(is_inside);
        let first = inside().map(|(_, place)| place.center - (place.extent / 2) as i64).min()?;
        let last = inside().map(|(_, place)| {
            let extent = place.extent - place.extent / 2;
            place.center + (extent + place.label_room) as i64 - 1
        });
        let first = usize::try_from(first).ok()?.checked_sub(PADDING + 1)?;
        let last = usize::try_from(last.max()?).ok()? + PADDING + 1;
        let (left, top) = self.point(begin, first);
        let (right, bottom) = self.point(end, last);
        let before = canvas.clone();
        if canvas.frame((left, top), (right, bottom), title).is_some() {
            return Some(());
        }
        *canvas = before;
        // There is no place for the title between the lines that enter.
        if self.direction == Direction::Right {
            return None;
        }
        canvas.frame((left, top), (right + text::width(title) + 3, bottom), title)
    }
}
