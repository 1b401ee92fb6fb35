// Images: sizes, the sequences of terminals that show them, and the text for those that do not.

const { getCapabilities, getCellDimensions } = require("pi:tui/terminal");
const { hyperlink } = require("pi:tui/text");

/** Bytes of one part of a kitty image. */
const CHUNK = 4096;

function bytesOf(base64, count) {
	const text = atob(base64.slice(0, Math.ceil(count / 3) * 4));
	return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const word = (bytes, at) => (bytes[at] << 8) | bytes[at + 1];
const wordLittle = (bytes, at) => bytes[at] | (bytes[at + 1] << 8);
const text = (bytes, start, end) => String.fromCharCode(...bytes.slice(start, end));

/** Calls a reader; what cannot be read has no size. */
function sizeOf(base64Data, count, read) {
	try {
		const bytes = bytesOf(base64Data, count);
		const size = read(bytes);
		return size === undefined ? null : { widthPx: size[0], heightPx: size[1] };
	} catch {
		return null;
	}
}

function getPngDimensions(base64Data) {
	return sizeOf(base64Data, 24, (bytes) => {
		if (bytes.length < 24 || text(bytes, 0, 8) !== "\x89PNG\r\n\x1a\n") return undefined;
		const number = (at) => word(bytes, at) * 65536 + word(bytes, at + 2);
		return [number(16), number(20)];
	});
}

function getGifDimensions(base64Data) {
	return sizeOf(base64Data, 10, (bytes) => {
		const isGif = bytes.length >= 10 && /^GIF8[79]a$/.test(text(bytes, 0, 6));
		return isGif ? [wordLittle(bytes, 6), wordLittle(bytes, 8)] : undefined;
	});
}

function getJpegDimensions(base64Data) {
	return sizeOf(base64Data, Number.MAX_SAFE_INTEGER, (bytes) => {
		if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined;
		let at = 2;
		while (at + 9 < bytes.length) {
			if (bytes[at] !== 0xff) {
				at++;
				continue;
			}
			const marker = bytes[at + 1];
			const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
			if (isFrame) return [word(bytes, at + 7), word(bytes, at + 5)];
			const length = word(bytes, at + 2);
			if (length < 2) return undefined;
			at += 2 + length;
		}
		return undefined;
	});
}

function getWebpDimensions(base64Data) {
	return sizeOf(base64Data, 30, (bytes) => {
		if (bytes.length < 30 || text(bytes, 0, 4) !== "RIFF" || text(bytes, 8, 12) !== "WEBP") return undefined;
		const kind = text(bytes, 12, 16);
		if (kind === "VP8 ") return [wordLittle(bytes, 26) & 0x3fff, wordLittle(bytes, 28) & 0x3fff];
		if (kind === "VP8L") {
			const packed = wordLittle(bytes, 21) + wordLittle(bytes, 23) * 65536;
			return [(packed & 0x3fff) + 1, (Math.floor(packed / 16384) & 0x3fff) + 1];
		}
		const number = (at) => wordLittle(bytes, at) + bytes[at + 2] * 65536;
		return kind === "VP8X" ? [number(24) + 1, number(27) + 1] : undefined;
	});
}

const READERS = { "image/png": getPngDimensions, "image/jpeg": getJpegDimensions, "image/jpg": getJpegDimensions, "image/gif": getGifDimensions, "image/webp": getWebpDimensions };

function getImageDimensions(base64Data, mimeType) {
	return READERS[mimeType]?.(base64Data) ?? null;
}

Object.assign(exports, { getPngDimensions, getGifDimensions, getJpegDimensions, getWebpDimensions, getImageDimensions });

exports.allocateImageId = function allocateImageId() {
	return Math.floor(Math.random() * 0xfffffffe) + 1;
};

exports.calculateImageRows = function calculateImageRows(imageDimensions, targetWidthCells, cellDimensions = getCellDimensions()) {
	const scale = (targetWidthCells * cellDimensions.widthPx) / imageDimensions.widthPx;
	return Math.max(1, Math.ceil((imageDimensions.heightPx * scale) / cellDimensions.heightPx));
};

/** Returns the cells of an image that must fit a width and perhaps a height. */
function cellsOf(size, maxWidth, maxHeight) {
	const cell = getCellDimensions();
	const rowsFor = (columns) => exports.calculateImageRows(size, columns, cell);
	let columns = Math.max(1, maxWidth);
	let rows = rowsFor(columns);
	if (maxHeight !== undefined && rows > maxHeight) {
		const scale = (maxHeight * cell.heightPx) / size.heightPx;
		columns = Math.max(1, Math.min(columns, Math.floor((size.widthPx * scale) / cell.widthPx)));
		rows = Math.min(maxHeight, rowsFor(columns));
	}
	return { columns, rows };
}

exports.encodeKitty = function encodeKitty(base64Data, options = {}) {
	const fields = ["a=T", "f=100", "q=2"];
	if (options.moveCursor === false) fields.push("C=1");
	if (options.columns) fields.push(`c=${options.columns}`);
	if (options.rows) fields.push(`r=${options.rows}`);
	if (options.imageId) fields.push(`i=${options.imageId}`);
	if (base64Data.length <= CHUNK) return `\x1b_G${fields.join(",")};${base64Data}\x1b\\`;
	let sequence = "";
	for (let at = 0; at < base64Data.length; at += CHUNK) {
		const part = base64Data.slice(at, at + CHUNK);
		const isLast = at + CHUNK >= base64Data.length;
		const head = at === 0 ? `${fields.join(",")},m=1` : `m=${isLast ? 0 : 1}`;
		sequence += `\x1b_G${head};${part}\x1b\\`;
	}
	return sequence;
};

exports.deleteKittyImage = function deleteKittyImage(imageId) {
	return `\x1b_Ga=d,d=I,i=${imageId},q=2\x1b\\`;
};

exports.deleteAllKittyImages = function deleteAllKittyImages() {
	return "\x1b_Ga=d,d=A,q=2\x1b\\";
};

exports.encodeITerm2 = function encodeITerm2(base64Data, options = {}) {
	const padding = base64Data.endsWith("==") ? 2 : base64Data.endsWith("=") ? 1 : 0;
	const fields = [`inline=${options.inline === false ? 0 : 1}`, `size=${Math.max(0, (base64Data.length / 4) * 3 - padding)}`];
	if (options.width !== undefined) fields.push(`width=${options.width}`);
	if (options.height !== undefined) fields.push(`height=${options.height}`);
	if (options.name) fields.push(`name=${btoa(options.name)}`);
	if (options.preserveAspectRatio === false) fields.push("preserveAspectRatio=0");
	return `\x1b]1337;File=${fields.join(";")}:${base64Data}\x07`;
};

/** Returns the sequence that shows an image, or null if the terminal shows none. */
exports.renderImage = function renderImage(base64Data, imageDimensions, options = {}) {
	const { images } = getCapabilities();
	if (!images) return null;
	const { columns, rows } = cellsOf(imageDimensions, options.maxWidthCells ?? 80, options.maxHeightCells);
	if (images === "kitty") {
		const { imageId, moveCursor } = options;
		return { sequence: exports.encodeKitty(base64Data, { columns, rows, imageId, moveCursor }), columns, rows, imageId };
	}
	const { preserveAspectRatio } = options;
	return { sequence: exports.encodeITerm2(base64Data, { width: columns, height: "auto", preserveAspectRatio }), columns, rows };
};

/** Takes a function that converts images for a terminal; such images are shown as text here. */
exports.setImageTranscoder = function setImageTranscoder(_transcode) {};

exports.imageFallback = function imageFallback(mimeType, dimensions, filename) {
	const parts = [];
	if (filename) parts.push(getCapabilities().hyperlinks && filename.startsWith("/") ? hyperlink(filename, `file://${filename}`) : filename);
	parts.push(`[${mimeType}]`);
	if (dimensions) parts.push(`${dimensions.widthPx}x${dimensions.heightPx}`);
	return `[Image: ${parts.join(" ")}]`;
};

class Image {
	#data;
	#mimeType;
	#theme;
	#options;
	#size;
	#id;
	#cached;

	constructor(base64Data, mimeType, theme, options = {}, dimensions) {
		this.#data = base64Data;
		this.#mimeType = mimeType;
		this.#theme = theme;
		this.#options = options;
		this.#size = dimensions ?? getImageDimensions(base64Data, mimeType) ?? { widthPx: 800, heightPx: 600 };
		this.#id = options.imageId;
	}

	getImageId() {
		return this.#id;
	}

	invalidate() {
		this.#cached = undefined;
	}

	render(width) {
		if (this.#cached?.width === width) return this.#cached.lines;
		const lines = this.#lines(width);
		this.#cached = { width, lines };
		return lines;
	}

	#lines(width) {
		const maxWidthCells = Math.max(1, Math.min(width - 2, this.#options.maxWidthCells ?? 60));
		const { images } = getCapabilities();
		if (images === "kitty") this.#id ??= exports.allocateImageId();
		const { maxHeightCells } = this.#options;
		const shown = exports.renderImage(this.#data, this.#size, { maxWidthCells, maxHeightCells, imageId: this.#id, moveCursor: false });
		if (shown === null) return [this.#theme.fallbackColor(exports.imageFallback(this.#mimeType, this.#size, this.#options.filename))];
		// The rows of the image are empty lines: above the sequence if it is drawn upwards.
		const empty = new Array(shown.rows - 1).fill("");
		if (images === "kitty") return [shown.sequence, ...empty];
		return [...empty, (shown.rows > 1 ? `\x1b[${shown.rows - 1}A` : "") + shown.sequence];
	}
}
exports.Image = Image;
