import type { Context } from 'hono';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { describeContent, findMime } from '../../core/workspace/content.ts';
import type { UploadHolder } from '../agent/upload-connector.ts';
import { readConfig } from '../config/config.ts';
import type { RpcResult } from '../objects/reach.ts';
import type { Upload, UploadApi } from '../objects/upload-api.ts';
import { toDownload } from '../routes/files.ts';
import { getPerson, type RouteEnv } from '../routes/identity.ts';
import { createWrongType, mount, readBytes, readMediaType } from '../routes/request.ts';
import { passBody } from '../routes/upload.ts';
import * as endpoints from '../wire/protocols/files/endpoints.ts';
import { maxForm, maxUpload, uploadForm } from '../wire/protocols/files/schema.ts';
import { changeUploads } from './holder.ts';

type Ctx = Context<RouteEnv>;

/** `/v1/files`: the files of a person, for requests that name them by their ids (docs/files.md, "Files by id"). */
export const uploadRoutes = [
	mount(endpoints.createUpload, async (c) => {
		const { owner, user } = findHolder(c);
		const { file, ...form } = check(uploadForm, await readForm(c), 'body');
		const content = new Uint8Array(await file.arrayBuffer());
		if (content.length > maxUpload)
			throw createFieldError('too_large', 'file', `more than ${maxUpload} bytes. Send less.`);
		const createdAt = Date.now();
		const seconds = form['expires_after[seconds]'];
		const upload: Upload = {
			...{ id: createId(createdAt), user, purpose: form.purpose, size: content.length, createdAt },
			...describe(file, content),
			...(seconds !== undefined && { expiresAt: createdAt + 1_000 * seconds }),
		};
		await changeUploads(readConfig(c.env), { owner }, (one) => one.putUpload(upload, content));
		return Response.json(show(c, upload));
	}),
	mount(endpoints.listUploads, async (c) => {
		const { user } = findHolder(c);
		const { order, purpose, limit, after, after_id, page } = c.req.valid('query');
		const query = { user, purpose, after: after ?? after_id ?? page, isOldestFirst: order === 'asc', limit: limit + 1 };
		const found = await ask(c, (one) => one.listUploads(query));
		const data = found.slice(0, limit).map((one) => show(c, one));
		const [has_more, last_id] = [found.length > limit, data.at(-1)?.id ?? null];
		const next_page = has_more ? last_id : null;
		return Response.json({ object: 'list', data, first_id: data[0]?.id ?? null, last_id, has_more, next_page });
	}),
	mount(endpoints.getUpload, async (c) => {
		const { user } = findHolder(c);
		const [upload] = await ask(c, (one) => one.listUploads({ user, id: c.req.param('file'), limit: 1 }));
		if (upload === undefined) throw createMissing();
		return Response.json(show(c, upload));
	}),
	mount(endpoints.getUploadContent, async (c) => {
		const [upload] = await ask(c, (one) =>
			one.readUploads(findHolder(c).user, [c.req.param('file')], Number.POSITIVE_INFINITY),
		);
		if (upload === undefined) throw createMissing();
		const { id: tag, name: path, size, mime, createdAt, content } = upload;
		const modifiedAt = new Date(createdAt).toISOString();
		const body = new Blob([content]).stream();
		return toDownload(c, { path, size, mime, modifiedAt, tag, from: 0, to: size, body }, false);
	}),
	mount(endpoints.deleteUpload, async (c) => {
		const id = c.req.param('file');
		if ((await ask(c, (one) => one.removeUploads(findHolder(c).user, id))) === 0) throw createMissing();
		return Response.json({ id, object: 'file', type: 'file_deleted', deleted: true });
	}),
];

/** Returns whose files a caller reads and changes: a person has their own, and a key without a user the owner's. */
function findHolder(c: Ctx): UploadHolder {
	const { owner, by } = getPerson(c);
	return { owner, user: by.user };
}

function ask<T>(c: Ctx, call: (one: UploadApi) => Promise<RpcResult<T>>): Promise<T> {
	return changeUploads(readConfig(c.env), findHolder(c), call);
}

/** Reads a form. Counts its bytes first, because the parser has no limit. */
async function readForm(c: Ctx): Promise<Readonly<Record<string, unknown>>> {
	const type = readMediaType(c.req.raw);
	if (type !== 'multipart/form-data') throw createWrongType('multipart/form-data', type);
	const bytes = await passBody(c.req.raw, maxForm, (body) =>
		readBytes(new Request(c.req.url, { method: 'POST', body }), maxForm),
	);
	const headers = { 'content-type': c.req.header('content-type') ?? '' };
	const form = await new Response(bytes, { headers }).formData().catch((cause: unknown) => {
		const message = 'body: Expected a form, as multipart/form-data has it.';
		throw new RunletError('invalid_request', message, { field: 'body' }, { cause });
	});
	if (form.getAll('file').length > 1) throw createFieldError('invalid_request', 'file', 'given twice. Send one file.');
	return Object.fromEntries(form);
}

/** Makes an id that sorts by its time. */
function createId(createdAt: number): string {
	const random = crypto.randomUUID().replaceAll('-', '');
	return `file-${createdAt.toString(16).padStart(12, '0')}${random.slice(0, 20)}`;
}

const named = /^(?:application\/pdf|(?:image|audio)\/[\w.+-]{1,60})$/;

/** Returns the name without folders, and the type by the name and the bytes. A sender knows it only of other bytes. */
function describe(file: File, content: Uint8Array): Pick<Upload, 'name' | 'mime'> {
	const last = file.name.split(/[/\\]/).at(-1) ?? '';
	const name =
		last
			.replace(/\p{C}|^\.+$/gu, '')
			.slice(-255)
			.trim() || 'file';
	const mime = findMime(name, describeContent(content));
	return { name, mime: mime === 'application/octet-stream' && named.test(file.type) ? file.type : mime };
}

/** Shows a file with the fields of OpenAI and of Anthropic, whose times have other forms. */
function show(c: Ctx, { id, name, purpose, mime, size, createdAt, expiresAt }: Upload) {
	const isAnthropic = c.req.header('anthropic-version') !== undefined;
	const toTime = (ms: number) => (isAnthropic ? new Date(ms).toISOString() : Math.floor(ms / 1_000));
	return {
		...{ id, object: 'file', type: 'file', bytes: size, size_bytes: size, filename: name, mime_type: mime, purpose },
		created_at: toTime(createdAt),
		...(expiresAt !== undefined && { expires_at: toTime(expiresAt) }),
		...{ status: 'processed', downloadable: true },
	};
}

function createMissing(): RunletError {
	return new RunletError('not_found', 'You have no such file. It is deleted, expired, or of somebody else.');
}
