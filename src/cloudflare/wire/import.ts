import * as v from 'valibot';
import { isBase64 } from '../../core/base/bytes.ts';
import { check } from '../../core/base/check.ts';
import { RunletError } from '../../core/base/errors.ts';
import { isRecord, parseJson } from '../../core/base/json.ts';
import { limit } from './budget.ts';
import {
	exportedFile,
	exportedLists,
	exportedMessage,
	exportedRun,
	exportedValue,
	exportVersion,
	recordNames,
} from './export.ts';
import { described } from './field.ts';
import { expirySchema, maxName, shortText } from './limits.ts';
import { modelField } from './message.ts';
import { metadata } from './session.ts';

/** The maximum size in bytes of an export as a single JSON document. */
export const maxDocument = 33_554_432;

/** The maximum size in bytes of an export as lines. */
export const maxLines = 1_073_741_824;

/** The maximum number of characters of a line. */
export const maxLine = 33_554_432;

/** How much of the lines of an import has arrived. */
export const arrivedPart = v.object({
	offset: described(v.number(), 'The bytes of the lines that are stored. The next part begins there.'),
});

const position = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const importedAbout = v.object({
	version: v.literal(exportVersion, `this Runlet imports version ${exportVersion}`),
	agent: v.pipe(shortText(maxName), v.nonEmpty()),
	model: modelField,
	metadata: v.optional(metadata),
	budget: v.optional(v.object({ limit })),
	title: v.optional(shortText(maxName)),
	expiresAfterMs: v.optional(expirySchema),
	stored: v.optional(v.object({ createdBy: v.optional(v.unknown()), isImported: v.optional(v.boolean()) })),
	clientTools: v.optional(
		v.array(
			v.object({
				name: v.string(),
				description: v.optional(v.string()),
				inputSchema: v.record(v.string(), v.unknown()),
			}),
		),
	),
});

const importedFile = v.object({
	...exportedFile.entries,
	size: position,
	at: position,
	base64: v.pipe(v.string(), v.check(isBase64, 'Expected base64')),
});

/** The schemas of the records that an import reads. Records without a schema are only counted. */
const schemas = {
	session: v.object({ session: importedAbout }),
	run: v.object({ run: exportedRun }),
	state: v.object({ state: exportedValue }),
	note: v.object({ note: exportedValue }),
	file: v.object({ file: importedFile }),
	message: v.object({ message: exportedMessage }),
	spending: v.object({ spending: v.unknown() }),
	waiting: v.object({ waiting: v.unknown() }),
	cursor: v.object({ cursor: v.string() }),
	end: v.object({ end: v.record(v.string(), v.number()) }),
};

export type ImportedRecord = v.InferOutput<(typeof schemas)[keyof typeof schemas]>;
export type ImportedAbout = v.InferOutput<typeof importedAbout>;
export type ImportedRun = v.InferOutput<typeof exportedRun>;
export type ImportedMessage = v.InferOutput<typeof exportedMessage>;
export type ImportedFile = v.InferOutput<typeof importedFile>;

/** Parses a line of an export. Throws `invalid_request`, with the number of the line. */
export function parseRecord(text: string, line: number): ImportedRecord {
	try {
		const record = parseJson(text);
		for (const [kind, schema] of Object.entries(schemas))
			if (isRecord(record) && Object.hasOwn(record, kind)) return check(schema, record, kind);
		const kinds = Object.keys(schemas).join(', ');
		throw new RunletError('invalid_request', `no record of an export. It is an object with one of ${kinds}.`);
	} catch (cause) {
		if (!(cause instanceof RunletError)) throw cause;
		throw createBadRecord(line, cause.message, cause.data);
	}
}

export function createBadRecord(line: number, message: string, data?: RunletError['data']): RunletError {
	return new RunletError('invalid_request', `line ${line}: ${message}`, { ...data, line });
}

/** Turns a JSON document into an export's records. Throws `invalid_request` at once for a missing session or list. */
export function toRecords(document: unknown): Generator<object> {
	if (!isRecord(document) || !('session' in document))
		throw new RunletError('invalid_request', 'session: missing. Send what GET /v1/sessions/:id/export gave.', {
			field: 'session',
		});
	const lists = exportedLists.map((list) => {
		// Exports of older versions have no notes.
		const records = document[list] ?? (list === 'notes' ? [] : undefined);
		if (!Array.isArray(records))
			throw new RunletError('invalid_request', `${list}: missing. It is a list, which may be empty.`, { field: list });
		return [list, records] as const;
	});
	return listRecords(document.session, lists);
}

function* listRecords(
	session: unknown,
	lists: readonly (readonly [(typeof exportedLists)[number], readonly unknown[]])[],
): Generator<object> {
	yield { session };
	const counts: Record<string, number> = {};
	for (const [list, records] of lists) {
		for (const record of records) yield { [recordNames[list]]: record };
		counts[list] = records.length;
	}
	yield { end: counts };
}
