/** Facts about the bytes of a file. */
export interface ContentInfo {
	readonly size: number;
	/** The number of lines. Missing if the bytes are not UTF-8 text. */
	readonly lines?: number;
	/** The byte offsets of the first line and of every 256th line after it. */
	readonly marks: readonly number[];
}

/** The number of lines between two marks. */
export const markedLines = 256;

const newline = 10;
/** The number of bytes that are decoded at once. */
const piece = 1_048_576;

/** Finds out whether a file's bytes are text, and where its lines begin. */
export function describeContent(bytes: Uint8Array): ContentInfo {
	const describer = createDescriber();
	describer.add(bytes);
	return describer.end();
}

/** Does the same as `describeContent` for bytes that arrive piece by piece. */
export function createDescriber() {
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
	const marks: number[] = [];
	let size = 0;
	let lines = 0;
	let isText = true;
	let beginsLine = true;
	const addLines = (bytes: Uint8Array): void => {
		for (let at = 0; at < bytes.length; ) {
			if (beginsLine && lines++ % markedLines === 0) marks.push(size + at);
			const end = bytes.indexOf(newline, at);
			beginsLine = end !== -1;
			at = end === -1 ? bytes.length : end + 1;
		}
	};
	return {
		add: (bytes: Uint8Array): void => {
			for (let at = 0; at < bytes.length; at += piece) {
				const part = bytes.subarray(at, at + piece);
				isText &&= isTextPart(decoder, part);
				if (isText) addLines(part);
				size += part.length;
			}
		},
		end: (): ContentInfo => (isText && isTextPart(decoder) ? { size, lines, marks } : { size, marks: [] }),
	};
}

/** Returns the byte offset after a number of lines. The bytes are a part of a text and begin at a line start. */
export function skipLines(bytes: Uint8Array, lines: number): number {
	let at = 0;
	for (let left = lines; left > 0 && at < bytes.length; left--) {
		const end = bytes.indexOf(newline, at);
		at = end === -1 ? bytes.length : end + 1;
	}
	return at;
}

/** Returns a file's media type by its name. Text never counts as an image (except SVG), audio, video or font. */
export function findMime(path: string, { lines }: Pick<ContentInfo, 'lines'>): string {
	const name = path.slice(path.lastIndexOf('/') + 1);
	const byName = name.includes('.') ? findMediaType(name) : undefined;
	const isText = lines !== undefined;
	if (byName === undefined) return isText ? 'text/plain' : 'application/octet-stream';
	const isMedia = /^(?:audio|video|image|font)\//.test(byName) && byName !== 'image/svg+xml';
	if (isText) return isMedia ? 'text/plain' : byName;
	return byName.startsWith('text/') ? 'application/octet-stream' : byName;
}

/** Whether bytes are a valid next part of a text. Without `bytes`, whether the text can end here. */
function isTextPart(decoder: TextDecoder, bytes?: Uint8Array): boolean {
	if (bytes?.includes(0)) return false;
	try {
		decoder.decode(bytes, { stream: bytes !== undefined });
		return true;
	} catch {
		return false;
	}
}

/** Common file extensions by media type (https://www.iana.org/assignments/media-types). */
const endings: Readonly<Record<string, string>> = {
	'application/atom+xml': 'atom',
	'application/epub+zip': 'epub',
	'application/geo+json': 'geojson',
	'application/gzip': 'gz tgz',
	'application/java-archive': 'jar war ear',
	'application/node': 'cjs',
	'application/json': 'json map',
	'application/json5': 'json5',
	'application/ld+json': 'jsonld',
	'application/manifest+json': 'webmanifest',
	'application/mp4': 'mp4s m4p',
	'application/msword': 'doc dot',
	'application/octet-stream': 'bin deb dll dmg exe img iso msi pkg so',
	'application/ogg': 'ogx',
	'application/pdf': 'pdf',
	'application/pgp-encrypted': 'pgp',
	'application/postscript': 'ai eps ps',
	'application/rdf+xml': 'rdf owl',
	'application/rss+xml': 'rss',
	'application/sql': 'sql',
	'application/toml': 'toml',
	'application/vnd.android.package-archive': 'apk',
	'application/vnd.ms-excel': 'xls xlt',
	'application/vnd.ms-outlook': 'msg',
	'application/vnd.ms-powerpoint': 'ppt pps pot',
	'application/vnd.oasis.opendocument.presentation': 'odp',
	'application/vnd.oasis.opendocument.spreadsheet': 'ods',
	'application/vnd.oasis.opendocument.text': 'odt',
	'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
	'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
	'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
	'application/vnd.rar': 'rar',
	'application/vnd.sqlite3': 'sqlite sqlite3',
	'application/wasm': 'wasm',
	'application/x-7z-compressed': '7z',
	'application/x-bzip2': 'bz2',
	'application/x-tar': 'tar',
	'application/xhtml+xml': 'xhtml xht',
	'application/xml': 'xsd xsl rng xslt',
	'application/zip': 'zip',
	'audio/aac': 'aac',
	'audio/flac': 'flac',
	'audio/midi': 'mid midi',
	'audio/mp4': 'm4a',
	'audio/mpeg': 'mp3 mp2',
	'audio/ogg': 'oga ogg opus',
	'audio/wav': 'wav',
	'audio/webm': 'weba',
	'audio/x-aiff': 'aif aiff',
	'font/collection': 'ttc',
	'font/otf': 'otf',
	'font/ttf': 'ttf',
	'font/woff': 'woff',
	'font/woff2': 'woff2',
	'image/apng': 'apng',
	'image/avif': 'avif',
	'image/bmp': 'bmp dib',
	'image/gif': 'gif',
	'image/heic': 'heic',
	'image/heif': 'heif',
	'image/jp2': 'jp2',
	'image/jpeg': 'jpg jpeg jpe',
	'image/jxl': 'jxl',
	'image/png': 'png',
	'image/svg+xml': 'svg svgz',
	'image/tiff': 'tif tiff',
	'image/vnd.adobe.photoshop': 'psd',
	'image/vnd.microsoft.icon': 'ico',
	'image/webp': 'webp',
	'message/rfc822': 'eml mime',
	'model/gltf+json': 'gltf',
	'model/gltf-binary': 'glb',
	'model/obj': 'obj',
	'model/stl': 'stl',
	'text/calendar': 'ics ifb',
	'text/coffeescript': 'coffee',
	'text/css': 'css',
	'text/csv': 'csv',
	'text/html': 'html htm shtml',
	'text/javascript': 'js mjs',
	'text/jsx': 'jsx',
	'text/less': 'less',
	'text/markdown': 'md markdown',
	'text/mdx': 'mdx',
	'text/plain': 'txt text log conf def list ini in',
	'text/richtext': 'rtx',
	'text/rtf': 'rtf',
	'text/sgml': 'sgml sgm',
	'text/tab-separated-values': 'tsv',
	'text/turtle': 'ttl',
	'text/uri-list': 'uri uris urls',
	'text/vcard': 'vcard vcf',
	'text/vtt': 'vtt',
	'text/xml': 'xml',
	'text/yaml': 'yaml yml',
	'video/3gpp': '3gp',
	'video/h264': 'h264',
	'video/mp2t': 'mts m2ts',
	'video/mp4': 'mp4 m4v',
	'video/mpeg': 'mpeg mpg',
	'video/ogg': 'ogv',
	'video/quicktime': 'mov qt',
	'video/webm': 'webm',
	'video/x-matroska': 'mkv',
	'video/x-msvideo': 'avi',
};

let types: ReadonlyMap<string, string> | undefined;

/** Returns the media type for the extension of a file's name. */
export function findMediaType(name: string): string | undefined {
	types ??= new Map(
		Object.entries(endings).flatMap(([type, all]) => all.split(' ').map((ending) => [ending, type] as const)),
	);
	return types.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase());
}
