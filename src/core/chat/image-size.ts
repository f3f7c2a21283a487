import type { Size } from './media-rules.ts';

/** Characters of base64 in which to look for the size of an image: a JPEG may begin with a thumbnail. */
const headLength = 200_000;

/** Reads the size of a PNG, GIF, WebP or JPEG. */
export function readImageSize(data: string): Size | undefined {
	const bytes = decodeHead(data.slice(0, headLength));
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (bytes.length < 30) return undefined;
	if (view.getUint32(0) === 0x89504e47) return toSized(view.getUint32(16), view.getUint32(20));
	if (view.getUint32(0) === 0x47494638) return toSized(view.getUint16(6, true), view.getUint16(8, true));
	if (view.getUint32(0) === 0x52494646 && view.getUint32(8) === 0x57454250) return readWebpSize(view);
	return view.getUint16(0) === 0xffd8 ? readJpegSize(view) : undefined;
}

function readWebpSize(view: DataView): Size | undefined {
	switch (view.getUint32(12)) {
		case 0x56503820: // VP8
			return toSized(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
		case 0x5650384c: {
			// VP8L: 14 bits each, less one.
			const bits = view.getUint32(21, true);
			return toSized((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
		}
		default: // VP8X: 24 bits each, less one.
			return toSized((view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1);
	}
}

/** Walks over the segments to the one that begins a frame. */
function readJpegSize(view: DataView): Size | undefined {
	for (let at = 2; at + 9 < view.byteLength && view.getUint8(at) === 0xff; ) {
		const marker = view.getUint8(at + 1);
		const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
		if (isFrame) return toSized(view.getUint16(at + 7), view.getUint16(at + 5));
		at += 2 + view.getUint16(at + 2);
	}
	return undefined;
}

function toSized(width: number, height: number): Size | undefined {
	return width > 0 && height > 0 ? { width, height } : undefined;
}

function decodeHead(data: string): Uint8Array {
	try {
		return Uint8Array.from(atob(data.slice(0, data.length - (data.length % 4))), (character) =>
			character.charCodeAt(0),
		);
	} catch {
		return new Uint8Array();
	}
}
