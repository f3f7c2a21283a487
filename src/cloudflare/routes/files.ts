import type { Context } from 'hono';
import { readConfig } from '../config/config.ts';
import type { FileDownload, FileRange } from '../objects/file-api.ts';
import * as endpoints from '../wire/endpoints/files.ts';
import type { RouteEnv } from './identity.ts';
import { mount, readCondition } from './request.ts';
import { askSessionInPath, findCaller, findCallerOrAdmin, toJson } from './respond.ts';
import { passBody } from './upload.ts';

/** `/v1/sessions/:id/files` and `/changes`: the workspace of a session (docs/files.md). */
export const fileRoutes = [
	mount(endpoints.listFiles, async (c) =>
		Response.json(await askSessionInPath(c, (one) => one.files(findCallerOrAdmin(c), c.req.valid('query')))),
	),
	mount(endpoints.getFile, async (c) => {
		const wanted = { range: readRange(c), known: listKnownTags(c), isHead: c.req.raw.method === 'HEAD' };
		const file = await askSessionInPath(c, (one) => one.readFile(findCallerOrAdmin(c), getPath(c), wanted));
		return toDownload(c, file, wanted.isHead);
	}),
	mount(endpoints.putFile, async (c) => {
		const { fileBytes } = readConfig(c.env).workspaceQuota;
		const { file, tag, isNew } = await passBody(c.req.raw, fileBytes, async (body) => {
			const condition = readCondition(c);
			return askSessionInPath(c, (one) => one.writeFile(findCaller(c), getPath(c), body, condition), false);
		});
		return Response.json(file, { status: isNew ? 201 : 200, headers: { etag: `"${tag}"` } });
	}),
	mount(endpoints.deleteFile, async (c) => {
		const condition = readCondition(c);
		await askSessionInPath(c, (one) => one.removeFile(findCaller(c), getPath(c), condition), false);
		return c.body(null, 204);
	}),
	mount(endpoints.listChanges, async (c) =>
		toJson(await askSessionInPath(c, (one) => one.changes(findCallerOrAdmin(c), c.req.valid('query')))),
	),
];

function getPath(c: Context<RouteEnv>): string {
	return c.req.param('path') ?? '';
}

/** Media types that a browser can show without executing anything. */
const inert =
	/^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+|font\/[\w.+-]+|application\/(?:json|pdf|zip|gzip))$/;
const inertText = /^text\/(?:plain|csv|markdown|tab-separated-values)$|^application\/json$/;

function toServedType(mime: string): string {
	if (inertText.test(mime)) return `${mime}; charset=utf-8`;
	if (inert.test(mime)) return mime;
	const isText = /^text\/|^application\/(?:[\w.-]+\+)?(?:xml|json|javascript|ecmascript|yaml|toml|sql)$|\+xml$/.test(
		mime,
	);
	return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

/** Makes the answer with a file. A browser saves the file and never executes it. */
export function toDownload(c: Context<RouteEnv>, file: FileDownload, isHead: boolean): Response {
	const { path, size, mime, modifiedAt, tag, from, to, body } = file;
	const isPart = to - from < size;
	c.header(
		'content-security-policy',
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
	);
	const headers = {
		etag: `"${tag}"`,
		'last-modified': new Date(modifiedAt).toUTCString(),
		'cache-control': 'private, no-cache',
		'accept-ranges': 'bytes',
		'content-disposition': toDisposition(path),
		...(isPart && { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
	};
	if (body === undefined && !isHead) return new Response(null, { status: 304, headers });
	return new Response(body?.pipeThrough(new FixedLengthStream(to - from)) ?? null, {
		status: isPart ? 206 : 200,
		headers: { ...headers, 'content-type': toServedType(mime) },
	});
}

/** Tells a browser to save a file under its name (RFC 6266). */
function toDisposition(path: string): string {
	const name = path.slice(path.lastIndexOf('/') + 1);
	const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
	const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
	return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** Returns the requested range. Ignores a header with several ranges or other units, as RFC 9110, 14.2 allows. */
function readRange(c: Context<RouteEnv>): FileRange | undefined {
	const [, from, to] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(c.req.header('range') ?? '') ?? [];
	if (from === undefined || to === undefined || c.req.header('if-range') !== undefined) return undefined;
	if (from === '') return to === '' ? undefined : { last: Number(to) };
	return { from: Number(from), ...(to !== '' && { to: Number(to) }) };
}

function listKnownTags(c: Context<RouteEnv>): readonly string[] {
	const tags = (c.req.header('if-none-match') ?? '').slice(0, 8_192).split(',');
	return tags.map((one) => one.trim().replace(/^(?:W\/)?"([^"]*)"$/, '$1')).filter((one) => one !== '');
}
