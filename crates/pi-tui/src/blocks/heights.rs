//! Heights in order: a balanced tree that answers "which element is at this row" and "how many rows
//! are before this element" in logarithmic time.
//!
//! The tree is a treap: ordered by position, and a heap by pseudorandom priorities, which balances
//! it. Nodes have parents, so that a node is also the handle of its element.

/// The absent node.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Node {
    parent: u32,
    left: u32,
    right: u32,
    priority: u64,
    height: usize,
    /// Number of nodes in this subtree.
    count: usize,
    /// Sum of heights in this subtree.
    sum: usize,
}

/// A sequence of heights.
#[derive(Debug, Clone)]
pub(super) struct Heights {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    seed: u64,
}

impl Default for Heights {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NONE, seed: 0 }
    }
}

impl Heights {
    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.count(self.root)
    }

    /// Returns the sum of all heights.
    pub(super) fn total(&self) -> usize {
        self.sum(self.root)
    }

    /// Adds an element at the end and returns its handle.
    pub(super) fn push(&mut self, height: usize) -> u32 {
        let last = self.last();
        let node = self.create(height);
        match last {
            None => self.root = node,
            Some(last) => {
                self.nodes[last as usize].right = node;
                self.attach(node, last);
            }
        }
        node
    }

    /// Adds an element before another.
    pub(super) fn insert_before(&mut self, next: u32, height: usize) -> u32 {
        let left = self.nodes[next as usize].left;
        let node = self.create(height);
        if left == NONE {
            self.nodes[next as usize].left = node;
            self.attach(node, next);
        } else {
            let parent = self.rightmost(left);
            self.nodes[parent as usize].right = node;
            self.attach(node, parent);
        }
        node
    }

    fn create(&mut self, height: usize) -> u32 {
        // splitmix64: the priorities only need to look random.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let priority = mixed ^ (mixed >> 31);
        let (parent, left, right) = (NONE, NONE, NONE);
        let node = Node { parent, left, right, priority, height, count: 1, sum: height };
        if let Some(slot) = self.free.pop() {
            self.nodes[slot as usize] = node;
            return slot;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Completes the insertion of a new leaf: sums above it, then the heap order.
    fn attach(&mut self, node: u32, parent: u32) {
        self.nodes[node as usize].parent = parent;
        self.update_above(parent);
        while let Some(parent) = self.parent(node) {
            if self.nodes[parent as usize].priority >= self.nodes[node as usize].priority {
                return;
            }
            self.rotate_up(node);
        }
    }

    /// Removes an element.
    pub(super) fn remove(&mut self, node: u32) {
        loop {
            let Node { left, right, .. } = self.nodes[node as usize];
            let child = match (left, right) {
                (NONE, NONE) => break,
                (child, NONE) | (NONE, child) => child,
                (left, right) => {
                    let first = self.nodes[left as usize].priority;
                    if first > self.nodes[right as usize].priority { left } else { right }
                }
            };
            self.rotate_up(child);
        }
        match self.parent(node) {
            None => self.root = NONE,
            Some(parent) => {
                self.replace_child(parent, node, NONE);
                self.update_above(parent);
            }
        }
        self.free.push(node);
    }

    /// Changes the height of an element.
    pub(super) fn set(&mut self, node: u32, height: usize) {
        if self.nodes[node as usize].height != height {
            self.nodes[node as usize].height = height;
            self.update_above(node);
        }
    }

    /// Returns the number of elements and of rows before an element.
    pub(super) fn before(&self, node: u32) -> (usize, usize) {
        let left = self.nodes[node as usize].left;
        let (mut count, mut sum) = (self.count(left), self.sum(left));
        let mut child = node;
        while let Some(parent) = self.parent(child) {
            let above = &self.nodes[parent as usize];
            if above.right == child {
                count += self.count(above.left) + 1;
                sum += self.sum(above.left) + above.height;
            }
            child = parent;
        }
        (count, sum)
    }

    /// Returns the element at a row, and the row within it.
    pub(super) fn at(&self, mut row: usize) -> Option<(u32, usize)> {
        let mut index = self.root;
        if row >= self.total() {
            return None;
        }
        while index != NONE {
            let node = &self.nodes[index as usize];
            let left = self.sum(node.left);
            if row < left {
                index = node.left;
            } else if row < left + node.height {
                return Some((index, row - left));
            } else {
                row -= left + node.height;
                index = node.right;
            }
        }
        None
    }

    pub(super) fn first(&self) -> Option<u32> {
        (self.root != NONE).then(|| self.leftmost(self.root))
    }

    pub(super) fn last(&self) -> Option<u32> {
        (self.root != NONE).then(|| self.rightmost(self.root))
    }

    pub(super) fn next(&self, node: u32) -> Option<u32> {
        let right = self.nodes[node as usize].right;
        if right != NONE {
            return Some(self.leftmost(right));
        }
        let mut child = node;
        while let Some(parent) = self.parent(child) {
            if self.nodes[parent as usize].left == child {
                return Some(parent);
            }
            child = parent;
        }
        None
    }

    pub(super) fn previous(&self, node: u32) -> Option<u32> {
        let left = self.nodes[node as usize].left;
        if left != NONE {
            return Some(self.rightmost(left));
        }
        let mut child = node;
        while let Some(parent) = self.parent(child) {
            if self.nodes[parent as usize].right == child {
                return Some(parent);
            }
            child = parent;
        }
        None
    }

    fn leftmost(&self, mut node: u32) -> u32 {
        while self.nodes[node as usize].left != NONE {
            node = self.nodes[node as usize].left;
        }
        node
    }

    fn rightmost(&self, mut node: u32) -> u32 {
        while self.nodes[node as usize].right != NONE {
            node = self.nodes[node as usize].right;
        }
        node
    }

    fn count(&self, node: u32) -> usize {
        self.nodes.get(node as usize).map_or(0, |node| node.count)
    }

    fn sum(&self, node: u32) -> usize {
        self.nodes.get(node as usize).map_or(0, |node| node.sum)
    }

    pub(super) fn parent(&self, node: u32) -> Option<u32> {
        let parent = self.nodes[node as usize].parent;
        (parent != NONE).then_some(parent)
    }

    fn update(&mut self, node: u32) {
        let Node { left, right, height, .. } = self.nodes[node as usize];
        let (count, sum) = (self.count(left) + self.count(right), self.sum(left) + self.sum(right));
        self.nodes[node as usize].count = count + 1;
        self.nodes[node as usize].sum = sum + height;
    }

    fn update_above(&mut self, node: u32) {
        let mut next = Some(node);
        while let Some(node) = next {
            self.update(node);
            next = self.parent(node);
        }
    }

    fn replace_child(&mut self, parent: u32, old: u32, new: u32) {
        let parent = &mut self.nodes[parent as usize];
        if parent.left == old {
            parent.left = new;
        } else {
            parent.right = new;
        }
    }

    /// Exchanges a node with its parent, which becomes its child; the order stays.
    fn rotate_up(&mut self, node: u32) {
        let Some(parent) = self.parent(node) else { return };
        let above = self.parent(parent);
        let inner = if self.nodes[parent as usize].left == node {
            let inner = std::mem::replace(&mut self.nodes[node as usize].right, parent);
            self.nodes[parent as usize].left = inner;
            inner
        } else {
            let inner = std::mem::replace(&mut self.nodes[node as usize].left, parent);
            self.nodes[parent as usize].right = inner;
            inner
        };
        if inner != NONE {
            self.nodes[inner as usize].parent = parent;
        }
        self.nodes[parent as usize].parent = node;
        self.nodes[node as usize].parent = above.unwrap_or(NONE);
        match above {
            Some(above) => self.replace_child(above, parent, node),
            None => self.root = node,
        }
        self.update(parent);
        self.update(node);
    }
}
