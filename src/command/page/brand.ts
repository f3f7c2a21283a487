/** The name, the logo and the colours of the page, from one file (docs/own-worker.md, "Your name, logo and colours"). */

import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import * as v from 'valibot';
import { toMessageText } from '../../core/base/errors.ts';
import { UsageError } from '../options.ts';

/** What `look` may set: the variables `--runlet-NAME` of docs/embed.md, "Look". */
const lookNames = [
	...['accent', 'on-accent', 'background', 'side', 'surface', 'tint', 'text', 'muted', 'line'],
	...['font', 'radius'],
] as const;

const value = v.pipe(v.string(), v.regex(/^[^;{}<>]{1,200}$/, 'expected a value of CSS, such as #0f6b7c'));
const look = v.union([value, v.tuple([value, value])], 'expected a value, or two: of the light and of the dark theme');

const brandSchema = v.strictObject({
	name: v.optional(v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(40))),
	/** The path of a picture, from the folder of the file. */
	logo: v.optional(v.string()),
	look: v.optional(v.partial(v.strictObject(v.entriesFromList([...lookNames], look)))),
	/** Where accounts sign out. */
	signOut: v.optional(v.pipe(v.string(), v.regex(/^(\/|https:\/\/)[^\s"<>]*$/, 'expected a path or an https address'))),
});

export interface Brand extends Omit<v.InferOutput<typeof brandSchema>, 'logo'> {
	/** The picture as a `data:` address. */
	readonly logo?: string;
}

const types: Readonly<Record<string, string>> = {
	'.svg': 'image/svg+xml',
	'.png': 'image/png',
	'.webp': 'image/webp',
};
/** The picture is in the page itself, so that it needs no request. */
const mostBytes = 64_000;

/** Reads the file of a brand. Throws a `UsageError` that names the field and the remedy. */
export function readBrand(file: string): Brand {
	const { logo, ...brand } = parseBrand(file);
	return logo === undefined ? brand : { ...brand, logo: readLogo(join(dirname(file), logo)) };
}

function parseBrand(file: string): v.InferOutput<typeof brandSchema> {
	let json: unknown;
	try {
		json = JSON.parse(readFileSync(file, 'utf8'));
	} catch (error) {
		throw new UsageError(`${file}: ${toMessageText(error)}`);
	}
	const parsed = v.safeParse(brandSchema, json, { abortEarly: true });
	if (parsed.success) return parsed.output;
	const [issue] = parsed.issues;
	throw new UsageError(`${file}: ${v.getDotPath(issue) ?? 'the file'}: ${issue.message}`);
}

function readLogo(file: string): string {
	const type = types[extname(file).toLowerCase()];
	if (type === undefined) throw new UsageError(`${file}: logo: expected a file .svg, .png or .webp`);
	let bytes: Buffer;
	try {
		bytes = readFileSync(file);
	} catch (error) {
		throw new UsageError(`${file}: logo: ${toMessageText(error)}`);
	}
	if (bytes.length > mostBytes)
		throw new UsageError(`${file}: logo: may have ${mostBytes} bytes, and has ${bytes.length}`);
	return `data:${type};base64,${bytes.toString('base64')}`;
}

const mark = /<svg viewBox="0 0 24 24" aria-hidden="true">\s*<path d="M2 8c[^"]*" \/>\s*<\/svg>/g;

/** Puts a brand into `index.html`. */
export function brandHtml(html: string, { name, logo, signOut }: Brand): string {
	let branded = html;
	if (name !== undefined) branded = branded.replaceAll(/\bRunlet\b/g, () => escapeHtml(name));
	if (logo !== undefined) {
		branded = branded.replace(mark, () => `<img src="${logo}" alt="" />`);
		branded = branded.replace(/(<link\s+rel="icon"\s+href=")[^"]*/, (_, before: string) => `${before}${logo}`);
	}
	const address = signOut === undefined ? '' : `<meta name="sign-out" content="${escapeHtml(signOut)}" />\n\t\t`;
	return branded.replace(/(?=<title>)/, () => address);
}

/** Puts the colours, the font and the corners of a brand behind `theme.css`. */
export function brandCss(css: string, { look: given = {} }: Brand): string {
	const lines = Object.entries(given).map(([name, one]) => {
		const text = typeof one === 'string' ? one : `light-dark(${one.join(', ')})`;
		return `\t--runlet-${name}: ${text};`;
	});
	return lines.length === 0 ? css : `${css}\n/* brand.json */\n:root {\n${lines.join('\n')}\n}\n`;
}

function escapeHtml(text: string): string {
	const references: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
	return text.replace(/[&<>"]/g, (sign) => references[sign] ?? sign);
}
