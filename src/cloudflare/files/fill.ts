import { toBase64, toFileText } from '../../core/base/bytes.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { UploadHolder } from '../agent/upload-connector.ts';
import type { Config } from '../config/config.ts';
import type { UploadContent } from '../objects/upload-api.ts';
import { maxBody } from '../wire/limits.ts';
import { changeUploads } from './holder.ts';

/** The most files that a request names. */
const mostFiles = 100;
/** Bytes that a file adds to a body beside its base64. */
const aroundFile = 400;

/** A part of a request that names a file by its id. */
interface Place {
	readonly id: string;
	/** The path of the id in the request. */
	readonly field: string;
	/** Replaces the id by the file itself. */
	fill(file: UploadContent): void;
}

/** Puts files that a request names by their ids into its JSON, as it could hold them itself (`UploadConnector.fill`). */
export async function fillFiles(
	config: Config,
	{ owner, user }: UploadHolder,
	body: unknown,
	bodyBytes: number,
): Promise<void> {
	const places = [...listPlaces(body, 'messages'), ...listPlaces(body, 'input')];
	const ids = [...new Set(places.map(({ id }) => id))];
	if (ids.length === 0) return;
	if (ids.length > mostFiles)
		throw createFieldError('invalid_request', 'file_id', `at most ${mostFiles} files, got ${ids.length}.`);
	const most = Math.floor(((maxBody - bodyBytes - aroundFile * places.length) * 3) / 4);
	const found = await changeUploads(config, { owner }, (one) => one.readUploads(user, ids, most));
	const files = new Map(found.map((file) => [file.id, file]));
	let bytes = 0;
	for (const { id, field, fill } of places) {
		const file = files.get(id);
		if (file === undefined)
			throw createFieldError('not_found', field, 'you have no such file. It is deleted, expired, or of somebody else.');
		bytes += file.size;
		if (bytes > most)
			throw createFieldError('too_large', field, `the files have more than ${most} bytes together. Send fewer.`);
		fill(file);
	}
}

/** Lists the places in a body of Chat Completions, Responses or Messages. */
function* listPlaces(body: unknown, list: 'messages' | 'input'): Generator<Place> {
	if (!isRecord(body)) return;
	for (const [at, message] of listEntries(body[list]))
		yield* listInParts(Object(message).content, `${list}.${at}.content`);
}

function* listInParts(content: unknown, path: string): Generator<Place> {
	for (const [at, part] of listEntries(content)) {
		const field = `${path}.${at}`;
		if (!isRecord(part)) continue;
		if (part.type === 'tool_result') yield* listInParts(part.content, `${field}.content`);
		const place = findPlace(part, field);
		if (place !== undefined) yield place;
	}
}

function findPlace(part: Record<string, unknown>, path: string): Place | undefined {
	const { type, file, source } = part;
	if (type === 'input_image') return createPlace(part, path, (found) => ({ image_url: toDataUrl(found) }));
	if (type === 'input_file') return createPlace(part, path, toFileFields);
	if (type === 'file') return createPlace(file, `${path}.file`, toFileFields);
	if (type !== 'image' && type !== 'document') return undefined;
	if (!isRecord(source) || source.type !== 'file') return undefined;
	return createPlace(source, `${path}.source`, (found) => {
		if (type === 'document') part.title ??= found.name;
		return toSource(found, type);
	});
}

/** @param toFields returns the fields that replace `file_id` */
function createPlace(
	holder: unknown,
	path: string,
	toFields: (file: UploadContent, holder: Record<string, unknown>) => object,
): Place | undefined {
	if (!isRecord(holder) || typeof holder.file_id !== 'string') return undefined;
	const fill = (file: UploadContent) => Object.assign(holder, { file_id: undefined }, toFields(file, holder));
	return { id: holder.file_id, field: `${path}.file_id`, fill };
}

function toFileFields(file: UploadContent, { filename }: Record<string, unknown>) {
	return { file_data: toDataUrl(file), filename: filename ?? file.name };
}

/** The source of a block in Anthropic's Messages, which has the words of a text as they are. */
function toSource({ mime, content }: UploadContent, type: 'image' | 'document') {
	const text = type === 'document' && mime !== 'application/pdf' ? toFileText(content) : undefined;
	if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text };
	return { type: 'base64', media_type: mime, data: toBase64(content) };
}

function toDataUrl({ mime, content }: UploadContent): string {
	return `data:${mime};base64,${toBase64(content)}`;
}

function listEntries(value: unknown): Iterable<[number, unknown]> {
	return Array.isArray(value) ? value.entries() : [];
}
