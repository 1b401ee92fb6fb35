//! Distributes the nodes of a flowchart over layers.
//!
//! Nodes of a subgraph have layers of their own, so that a frame around them contains nothing else.
//! An edge that would close a cycle leads back to an earlier layer, or stays in its own.

use super::flowchart::Chart;

/// The layers of a chart.
#[derive(Debug)]
pub(super) struct Ranks {
    /// The layer of each node.
    pub(super) layers: Vec<usize>,
    /// Number of layers.
    pub(super) count: usize,
    /// The first and the last layer of each subgraph.
    pub(super) subgraphs: Vec<(usize, usize)>,
}

/// Returns the layers of a chart.
pub(super) fn of(chart: &Chart) -> Option<Ranks> {
    let subgraphs = chart.subgraphs.len();
    // Subgraphs come first, then nodes; nodes of a subgraph are not used.
    let group = |node: usize| {
        let inside = chart.nodes.get(node).and_then(|node| node.subgraph);
        inside.unwrap_or(subgraphs + node)
    };
    let outer = chart.edges.iter().map(|edge| (group(edge.from), group(edge.to)));
    let order = (0..chart.nodes.len()).map(group);
    let depths = depths(subgraphs + chart.nodes.len(), outer, order)?;
    let inner = chart
        .edges
        .iter()
        .filter(|edge| group(edge.from) == group(edge.to) && group(edge.from) < subgraphs);
    let inner = inner.map(|edge| (edge.from, edge.to));
    let inside = self::depths(chart.nodes.len(), inner, 0..chart.nodes.len())?;
    let mut ranks =
        Ranks { layers: vec![0; chart.nodes.len()], count: 0, subgraphs: vec![(0, 0); subgraphs] };
    let levels = (0..chart.nodes.len()).filter_map(|node| depths.get(group(node))).max()? + 1;
    for level in 0..levels {
        let is_here = |group: usize| depths.get(group) == Some(&level);
        let mut has_nodes = false;
        for node in 0..chart.nodes.len() {
            if group(node) >= subgraphs && is_here(group(node)) {
                *ranks.layers.get_mut(node)? = ranks.count;
                has_nodes = true;
            }
        }
        ranks.count += usize::from(has_nodes);
        for subgraph in (0..subgraphs).filter(|subgraph| is_here(*subgraph)) {
            let first = ranks.count;
            for node in (0..chart.nodes.len()).filter(|node| group(*node) == subgraph) {
                let layer = first + inside.get(node)?;
                *ranks.layers.get_mut(node)? = layer;
                ranks.count = ranks.count.max(layer + 1);
            }
            *ranks.subgraphs.get_mut(subgraph)? = (first, ranks.count.checked_sub(1)?);
        }
    }
    Some(ranks)
}

/// Returns for each of `count` things the length of the longest way to it. Edges that close a cycle,
/// as seen from the things in `order`, do not count.
fn depths(
    count: usize,
    edges: impl Iterator<Item = (usize, usize)>,
    order: impl Iterator<Item = usize>,
) -> Option<Vec<usize>> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges.filter(|(from, to)| from != to) {
        next.get_mut(from)?.push(to);
    }
    // A walk in depth. The things on the way to the present one are open.
    let (mut is_open, mut is_done) = (vec![false; count], vec![false; count]);
    let mut finished = Vec::new();
    let mut forward: Vec<(usize, usize)> = Vec::new();
    for start in order {
        let mut way = vec![(start, 0)];
        while let Some((thing, edge)) = way.pop() {
            if edge == 0 {
                if *is_done.get(thing)? {
                    continue;
                }
                *is_open.get_mut(thing)? = true;
            }
            let Some(to) = next.get(thing)?.get(edge).copied() else {
                *is_open.get_mut(thing)? = false;
                *is_done.get_mut(thing)? = true;
                finished.push(thing);
                continue;
            };
            way.push((thing, edge + 1));
            if !*is_open.get(to)? {
                forward.push((thing, to));
                if !*is_done.get(to)? {
                    way.push((to, 0));
                }
            }
        }
    }
    let mut depths = vec![0; count];
    // What is finished last comes before everything that it leads to.
    for thing in finished.into_iter().rev() {
        let depth = *depths.get(thing)? + 1;
        for (_, to) in forward.iter().filter(|(from, _)| *from == thing) {
            let known = depths.get_mut(*to)?;
            *known = depth.max(*known);
        }
    }
    Some(depths)
}
