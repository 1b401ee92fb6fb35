// A component of which a part is visible.

const { Container } = require("pi:tui/containers");

/** Time for which a scrollbar of kind `auto` stays after scrolling. */
const HIDE_DELAY = 1000;

class ScrollView extends Container {
	#top = 0;
	#contentHeight = 0;
	#viewportHeight = 0;
	#isFollowing;
	#scrollbar;
	#isTransient = false;
	#isActive = false;
	#hideDelay;
	#hideTimer;
	#requestRender = () => {};

	constructor(component, options = {}) {
		super();
		this.child = component;
		this.children.push(component);
		this.followEnd = options.follow === "end";
		this.primary = options.primary ?? false;
		this.overscroll = options.overscroll ?? "chain";
		this.scrollbarTrackStyle = options.scrollbarTrackStyle ?? ((text) => text);
		this.scrollbarThumbStyle = options.scrollbarThumbStyle ?? ((text) => text);
		this.#scrollbar = options.scrollbar ?? "hidden";
		this.#hideDelay = options.scrollbarHideDelayMs ?? HIDE_DELAY;
		this.#isFollowing = this.followEnd;
	}

	get scrollTop() {
		return this.#top;
	}
	get isFollowingEnd() {
		return this.#isFollowing;
	}
	get viewportHeight() {
		return this.#viewportHeight;
	}
	get scrollbar() {
		return this.#scrollbar;
	}
	get isScrollbarVisible() {
		if (this.#contentHeight <= this.#viewportHeight) return false;
		return this.#scrollbar === "always" || (this.#scrollbar === "auto" && (this.#isTransient || this.#isActive));
	}
	get isScrollbarActive() {
		return this.#isActive;
	}

	setScrollbar(scrollbar) {
		this.#scrollbar = scrollbar;
		this.#hide();
	}

	setScrollbarActive(active) {
		this.#isActive = active;
		if (!active) this.#showForAWhile();
	}

	/** Returns the columns of the content beside the scrollbar. */
	getContentWidth(width) {
		return this.#scrollbar === "hidden" ? width : Math.max(1, width - 1);
	}

	get #last() {
		return Math.max(0, this.#contentHeight - this.#viewportHeight);
	}

	scrollTo(scrollTop, options = {}) {
		const before = this.#top;
		this.#top = Math.min(this.#last, Math.max(0, Math.floor(scrollTop)));
		this.#isFollowing = this.followEnd && this.#top === this.#last && !options.disableFollow;
		if (this.#top !== before) {
			this.#showForAWhile();
			this.#requestRender();
		}
	}

	/** Scrolls by some lines; returns those that were too many. */
	scrollBy(lines) {
		const wanted = this.#top + lines;
		this.scrollTo(wanted);
		return wanted - this.#top;
	}

	scrollToStart() {
		this.scrollTo(0);
	}

	scrollToEnd() {
		this.scrollTo(this.#last);
	}

	updateLayout(contentHeight, viewportHeight, requestRender) {
		this.#contentHeight = contentHeight;
		this.#viewportHeight = viewportHeight;
		this.#requestRender = requestRender;
		this.#top = this.#isFollowing ? this.#last : Math.min(this.#top, this.#last);
	}

	#showForAWhile() {
		if (this.#scrollbar !== "auto") return;
		this.#isTransient = true;
		clearTimeout(this.#hideTimer);
		this.#hideTimer = setTimeout(() => this.#hide(), this.#hideDelay);
		this.#hideTimer.unref?.();
	}

	#hide() {
		clearTimeout(this.#hideTimer);
		this.#isTransient = false;
		this.#requestRender();
	}

	addChild() {
		throw new Error("ScrollView has exactly one child");
	}
	removeChild() {
		throw new Error("ScrollView has exactly one child");
	}
	clear() {
		throw new Error("ScrollView has exactly one child");
	}

	render(width) {
		return this.child.render(width);
	}
}
exports.ScrollView = ScrollView;
