import * as v from 'valibot';
import { countBase64Bytes, countBytes, isBase64 } from '../../core/base/bytes.ts';
import { isPublicUrl } from '../../core/base/public-fetch.ts';
import { labelledCall, labels, providerCall, ranWith, source } from './call.ts';
import { feedback } from './feedback.ts';
import { described, time } from './field.ts';
import { longText, maxId, maxName, shortText } from './limits.ts';
import { cacheMiss, usage } from './run.ts';

/** A public URL. A tool or a model's server may fetch the URL from a network that the client cannot reach. */
const fileUrlField = v.pipe(
	v.string(),
	v.maxLength(2_048, 'at most 2048 characters'),
	v.check(isPublicUrl, 'Expected an https URL at a public name, without a user, a password or a port'),
);

const maxText = 1_000_000;

const mediaType = v.pipe(
	shortText(maxName),
	v.regex(/^[\w.+-]+\/[\w.+-]+$/, 'Expected a media type such as image/png'),
);

export const textField = v.pipe(
	v.string(),
	v.maxLength(maxText, ({ received }) => `at most ${maxText} characters, got ${received}`),
	v.check((text) => text.trim() !== '', 'must not be empty'),
);

export const part = v.pipe(
	v.strictObject({
		kind: v.picklist(['text', 'image', 'audio', 'file']),
		text: v.optional(v.pipe(v.string(), v.maxLength(maxText))),
		mime: v.optional(mediaType),
		data: v.optional(v.pipe(longText, v.check(isBase64, 'Expected base64'), v.description('The bytes, in base64.'))),
		url: v.optional(fileUrlField),
		name: v.optional(v.pipe(v.string(), v.maxLength(255))),
	}),
	v.forward(
		v.check(({ kind, text }) => kind !== 'text' || text !== undefined, 'missing'),
		['text'],
	),
	v.forward(
		v.check(({ kind, data, url }) => kind === 'text' || data !== undefined || url !== undefined, 'give data or url'),
		['data'],
	),
);

/** The text or the parts of a message. Each schema that uses these fields defines which of them is required. */
export const content = {
	text: v.optional(textField),
	parts: v.optional(v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(32), v.array(part))),
};

/** A part in the history. Tools and other sources add more kinds. */
export const shownPart = v.object({
	kind: v.picklist(['text', 'image', 'audio', 'file', 'tool-result']),
	text: v.optional(v.string()),
	mime: v.optional(v.string()),
	data: v.optional(v.string()),
	url: v.optional(v.string()),
	name: v.optional(v.string()),
	meta: v.optional(v.record(v.string(), v.unknown())),
});

const mostAttachments = 16;

const contents = ['contentText', 'contentBase64', 'contentUrl'] as const;

/** A plain file name: no path, no line breaks, no characters that change the writing direction. */
const nameField = v.pipe(
	v.string(),
	v.nonEmpty('must not be empty'),
	v.maxLength(255, 'at most 255 characters'),
	v.regex(/^[^/\\]*$/, 'a file name, without a path'),
	v.regex(/^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/u, 'must not hold control characters'),
	v.check((name) => !/^\.{1,2}$/.test(name), 'a file name, without a path'),
);

/** A file of a message. It has exactly one of the three kinds of content. */
export const attachment = v.pipe(
	v.strictObject({
		name: nameField,
		type: mediaType,
		size: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.description('Bytes.')),
		contentText: v.optional(longText),
		contentBase64: v.optional(v.pipe(longText, v.check(isBase64, 'Expected base64'))),
		contentUrl: v.optional(fileUrlField),
	}),
	v.forward(
		v.check(
			(attachment) => contents.filter((field) => attachment[field] !== undefined).length === 1,
			`give one of ${contents.join(', ')}`,
		),
		['contentText'],
	),
	v.forward(
		v.check(
			(attachment) => (measureAttachment(attachment) ?? attachment.size) === attachment.size,
			({ input }) => `the content has ${measureAttachment(input)} bytes`,
		),
		['size'],
	),
);

export type Attachment = Readonly<v.InferOutput<typeof attachment>>;

/** An attachment in the history. The content of the file is in the message's parts. */
const shownAttachment = v.object({ name: v.string(), type: v.string(), size: v.number() });

/** The name of the attachment with the context that a page sends along (docs/ag-ui.md). */
export const contextName = 'context of the page';

export const attachmentsField = v.optional(
	v.pipe(v.array(v.unknown()), v.maxLength(mostAttachments, `at most ${mostAttachments}`), v.array(attachment)),
);

function measureAttachment(attachment: { contentText?: string; contentBase64?: string }): number | undefined {
	const { contentText, contentBase64 } = attachment;
	if (contentText !== undefined) return countBytes(contentText);
	return contentBase64 === undefined ? undefined : countBase64Bytes(contentBase64);
}

export const modelField = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

export const bothGiven = 'give text or parts, not both';

export const messageBody = v.pipe(
	v.strictObject({
		...content,
		attachments: attachmentsField,
		model: modelField,
		replaces: v.optional(
			v.pipe(
				v.string(),
				v.regex(/^\d{1,15}$/, 'Expected the id of a message'),
				v.description(
					'The id of an earlier message of a person, which this message replaces. Without a text the earlier message is repeated. No model sees the messages after it, and an active run is stopped.',
				),
			),
		),
		whenBusy: v.optional(
			described(
				v.picklist(['queue', 'reject', 'steer']),
				'What happens to the message during a run: it waits for the end of the run (queue, the default), it is refused (reject), or the run takes it up (steer).',
			),
		),
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, bothGiven),
		['text'],
	),
	v.forward(
		v.check(
			({ text, parts, attachments = [], replaces }) =>
				text !== undefined || parts !== undefined || attachments.length > 0 || replaces !== undefined,
			'missing. Give text, parts or attachments',
		),
		['text'],
	),
);

export const answerBody = v.pipe(
	v.strictObject({
		...content,
		attachments: attachmentsField,
		model: modelField,
		callId: v.optional(
			v.pipe(
				shortText(maxId),
				v.nonEmpty(),
				v.description(
					'The call that is answered: that of the question, or of a child the one in options.call. Where another one waits meanwhile, the answer is refused.',
				),
			),
		),
	}),
	v.forward(
		v.check(({ text, parts }) => text === undefined || parts === undefined, bothGiven),
		['text'],
	),
	v.forward(
		v.check(
			({ text, parts, attachments = [] }) => text !== undefined || parts !== undefined || attachments.length > 0,
			'missing. Give text, parts or attachments',
		),
		['text'],
	),
);

const turn = v.object({
	iteration: described(v.number(), 'The number of the model’s turn in the run, from 1.'),
	model: v.string(),
	stopReason: v.string(),
	usage,
	firstMs: v.optional(described(v.number(), 'Milliseconds from the request to its first delta.')),
	retries: v.optional(described(v.number(), 'The number of failed requests before this reply.')),
	cacheMiss,
	streamedInputs: v.optional(v.record(v.string(), v.string())),
	pieces: v.optional(
		described(v.array(v.number()), 'The lengths of thinking and text in turns, if it thought again after text.'),
	),
});

const about = {
	id: described(v.string(), 'The position in the history.'),
	runId: v.optional(described(v.string(), 'The run that the message belongs to.')),
	attachments: v.optional(v.array(shownAttachment)),
	turn: v.optional(described(turn, 'Only on an assistant message: the model’s turn.')),
	isCut: v.optional(described(v.boolean(), 'The content is cut. Get the message by its id to read all of it.')),
	isReplaced: v.optional(described(v.boolean(), 'An edit or a regeneration replaced this message. No model sees it.')),
	isInput: v.optional(described(v.boolean(), 'The message came with a request.')),
	replaces: v.optional(described(v.string(), 'The id of the earlier version of this message.')),
	version: v.optional(described(v.number(), 'Which version of the message it is, from 2.')),
	feedback: v.optional(described(feedback, 'Only on the last message of a rated run.')),
	createdAt: time,
};
const parts = v.optional(v.array(shownPart));
const from = v.optional(
	described(v.picklist(['agent', 'schedule']), 'What sent it: another agent, such as a report, or a schedule.'),
);

export const shownMessage = v.variant('role', [
	v.object({
		...about,
		role: v.literal('system'),
		content: v.string(),
		summary: v.optional(v.boolean()),
		skills: v.optional(v.array(v.string())),
	}),
	v.object({
		...about,
		role: v.literal('user'),
		content: v.string(),
		parts,
		messageId: v.optional(described(v.string(), 'The id that the page gave it (AI SDK, AG-UI).')),
		from,
		labels: v.optional(described(labels, '`outside`: strangers may have written it. `private`: it has private data.')),
	}),
	v.object({
		...about,
		role: v.literal('assistant'),
		content: v.string(),
		parts,
		toolCalls: v.optional(v.array(labelledCall)),
		reasoning: v.optional(v.string()),
		providerCalls: v.optional(v.array(providerCall)),
		sources: v.optional(v.array(source)),
	}),
	v.object({
		...about,
		role: v.literal('tool'),
		content: described(v.unknown(), 'The result of the tool: any JSON.'),
		toolCallId: v.string(),
		isError: v.optional(v.boolean()),
		ranWith,
		parts,
	}),
]);

/** The waiting messages, oldest first. */
export const waitingMessages = v.object({
	waiting: v.array(
		v.object({
			id: described(v.string(), 'The run that the message will start.'),
			content: v.string(),
			parts,
			attachments: about.attachments,
			from,
			steers: v.optional(described(v.literal(true), 'The current run takes it up before its next turn.')),
		}),
	),
});
