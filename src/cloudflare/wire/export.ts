import * as v from 'valibot';
import { ways } from '../../core/base/actor.ts';
import { fromBase64Url, joinBytes, toBase64Url } from '../../core/base/bytes.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { labels } from './call.ts';
import { delta, sideEvent, terminalEvent } from './event.ts';
import { feedback } from './feedback.ts';
import { described, time } from './field.ts';
import { shortText } from './limits.ts';
import { shownMessage, shownPart } from './message.ts';
import { runStatus, session } from './session.ts';

/** The version of exports. An import refuses any other. */
export const exportVersion = 1 as const;

const runId = v.optional(v.string());
const origin = {
	sender: v.optional(described(v.string(), 'Who sent the message.')),
	transport: v.optional(described(v.string(), 'The way the message came, such as http or webhook:github.')),
};

const runEnd = v.object({
	before: v.array(sideEvent),
	draft: v.array(delta),
	restarts: v.optional(v.number()),
	steps: v.number(),
	event: terminalEvent,
	isOutputText: v.optional(v.literal(true)),
});

export const exportedRun = v.object({
	id: v.string(),
	status: runStatus,
	model: v.optional(v.string()),
	lives: described(v.number(), 'More than 1 if the run survived a crash.'),
	createdAt: time,
	endedAt: v.optional(time),
	error: v.optional(v.object({ code: v.string(), message: v.string() })),
	reason: v.optional(described(v.string(), 'Why the run was halted.')),
	feedback: v.optional(feedback),
	partialText: v.optional(described(v.string(), 'The text that readers saw of an interrupted turn.')),
	stored: described(
		v.object({
			firstMessage: v.string(),
			end: v.optional(runEnd),
			terms: v.optional(described(v.record(v.string(), v.unknown()), 'What the request asked of the run.')),
			recalled: v.optional(described(labels, 'What flowed into it with memories.')),
		}),
		'Further data for an import, and for a replay.',
	),
});

const charge = v.object({
	runId,
	model: v.string(),
	tokens: v.number(),
	usd: v.number(),
	isSettled: described(v.boolean(), 'Whether the call has ended. If not, the amounts are reserved.'),
	createdAt: time,
});

const waiting = v.object({
	runId: described(v.string(), 'The run that the message will start.'),
	content: v.unknown(),
	parts: v.optional(v.array(shownPart)),
	...origin,
});

export const exportedValue = v.object({ key: v.string(), value: v.unknown() });

/** A piece of a file. The pieces of a file are consecutive. */
export const exportedFile = v.object({
	path: v.string(),
	size: described(v.number(), 'Bytes of the whole file.'),
	modifiedAt: v.optional(described(v.string(), 'When the file was last changed. An import does not read it.')),
	at: described(v.number(), 'Where in the file the piece begins.'),
	base64: described(v.string(), 'The bytes of the piece.'),
});

/** An actor (docs/keys.md, "Actors"). Exports of older versions have no owner. */
const actor = v.object({
	owner: v.optional(v.string()),
	user: v.optional(v.string()),
	via: v.picklist([...ways, 'sender']),
	id: v.string(),
	madeBy: v.optional(v.unknown()),
});

const inbound = v.object({
	sender: v.string(),
	transport: v.string(),
	by: v.optional(actor),
	askers: v.optional(v.array(actor)),
	labels: v.optional(described(labels, 'What flowed into a message of another agent.')),
	messageId: v.optional(v.string()),
	requestId: v.optional(described(v.string(), 'The random part of the id of the request that sent the message.')),
	caller: v.optional(v.object({ traceId: v.string(), spanId: v.string() })),
	attachments: v.optional(
		v.array(
			v.object({
				name: v.string(),
				type: v.string(),
				size: v.number(),
				part: v.number(),
				text: v.optional(v.tuple([v.number(), v.number()])),
			}),
		),
	),
});

const setup = v.object({
	system: v.optional(v.string()),
	tools: v.optional(
		v.array(
			v.object({
				name: v.string(),
				description: v.optional(v.string()),
				inputSchema: v.optional(v.unknown()),
				isLoaded: v.optional(v.literal(true)),
			}),
		),
	),
	settings: v.optional(v.record(v.string(), v.unknown())),
});

const prompt = v.object({
	model: v.string(),
	tools: v.tuple([v.number(), v.string()]),
	system: v.string(),
	start: v.tuple([v.string(), v.boolean()]),
	fronts: v.tuple([v.number(), v.string()]),
	references: v.optional(v.tuple([v.number(), v.number()])),
	inputTokens: v.number(),
	at: v.number(),
});

const change = v.union([v.strictTuple([v.string()]), v.strictTuple([v.string(), v.unknown()])]);

const storedWithMessage = v.object({
	inbound: v.optional(inbound),
	decidedBy: v.optional(actor),
	isDenied: v.optional(v.boolean()),
	isCutOff: v.optional(described(v.boolean(), 'Whether a crash cut the call off, so that its result is unknown.')),
	prompt: v.optional(described(prompt, 'Hashes of the request, which decide about references in the next one.')),
	setup: v.optional(described(setup, 'The system prompt, tools and settings of the turn, as far as they changed.')),
	changes: v.optional(described(v.array(change), 'The changed keys of the tools’ state, with their values.')),
	providerMetadata: v.optional(v.record(v.string(), v.unknown())),
	before: v.optional(v.array(sideEvent)),
	restarts: v.optional(v.number()),
	haltedReason: v.optional(v.string()),
	replaces: v.optional(v.number()),
	isRestated: v.optional(v.boolean()),
});

export const exportedMessage = v.intersect([
	shownMessage,
	v.object({
		...origin,
		stored: v.optional(described(storedWithMessage, 'Further data for an import.')),
	}),
]);

const exportedAbout = v.object({
	version: described(v.literal(exportVersion), 'The version of the export.'),
	...session.entries,
	owner: v.string(),
	jurisdiction: v.optional(described(v.string(), 'Where it is stored, if it has a jurisdiction.')),
	stored: v.optional(
		described(
			v.object({ createdBy: v.optional(actor), isImported: v.optional(v.boolean()) }),
			'Who created it, and whether its history was imported. An import reads neither.',
		),
	),
	expiresAfterMs: v.optional(v.number()),
	clientTools: v.optional(
		described(
			v.array(
				v.object({
					name: v.string(),
					description: v.optional(v.string()),
					inputSchema: v.record(v.string(), v.unknown()),
				}),
			),
			'The tools that the client runs.',
		),
	),
});

const document = v.object({
	session: exportedAbout,
	runs: described(v.array(exportedRun), 'The oldest first, as in all lists here.'),
	spending: described(v.array(charge), 'One record for each request to a model.'),
	state: described(v.array(exportedValue), 'The state of the tools.'),
	notes: described(v.array(exportedValue), 'Data of tools beside the files, such as task lists.'),
	waiting: described(v.array(waiting), 'The messages that wait for the current run to end.'),
	files: described(v.array(exportedFile), 'The files, in pieces.'),
	messages: described(v.array(exportedMessage), 'The whole history, with the full tool results.'),
});

export interface ExportedSession extends v.InferOutput<typeof document> {}

/** The schema of an export. Its type is so large that the compiler needs a name for it. */
export const exportedSession: v.GenericSchema<ExportedSession> = document;

/** The lists of an export, in the order of their records. */
export const exportedLists = ['runs', 'spending', 'state', 'notes', 'waiting', 'files', 'messages'] as const;

export const recordNames = {
	session: 'session',
	runs: 'run',
	spending: 'spending',
	state: 'state',
	notes: 'note',
	waiting: 'waiting',
	files: 'file',
	messages: 'message',
} as const satisfies Record<keyof ExportedSession, string>;

/** The maximum number of characters of a cursor. */
const maxCursor = 4_096;

export const exportQuery = v.object({
	cursor: v.optional(
		described(
			shortText(maxCursor),
			'Of lines only. `start` puts lines `{ "cursor": … }` among them; the last cursor that came begins behind it.',
		),
	),
});

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Where an export goes on: behind a record of a list. */
const exportCursor = v.object({
	/** The place behind the last message, and the last run of the export. Both stay as they were at its beginning. */
	end: count,
	lastRun: count,
	list: v.picklist(exportedLists),
	place: v.union([v.string(), count]),
	/** How many records of each list came before. */
	counts: v.object({
		runs: count,
		spending: count,
		state: count,
		notes: count,
		waiting: count,
		files: count,
		messages: count,
	}),
});

export type ExportCursor = v.InferOutput<typeof exportCursor>;

/** Returns nothing at a place whose name is too long for a cursor. */
export function formatCursor(cursor: ExportCursor): string | undefined {
	const text = toBase64Url(joinBytes(JSON.stringify(cursor)));
	return text.length <= maxCursor ? text : undefined;
}

/** Parses the cursor of an export. Throws `invalid_request` for another text. */
export function parseCursor(text: string): ExportCursor {
	try {
		return v.parse(exportCursor, JSON.parse(new TextDecoder().decode(fromBase64Url(text))));
	} catch {
		throw createFieldError('invalid_request', 'cursor', 'no cursor of an export. Begin with cursor=start.');
	}
}
