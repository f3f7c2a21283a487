import * as v from 'valibot';
import { providerCall, ranWith, source, toolCall } from './call.ts';
import { attachmentsField, content, shownAttachment, shownPart } from './content.ts';
import { described, time } from './field.ts';
import { maxId, shortText } from './limits.ts';
import { cacheMiss, usage } from './run.ts';

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
	cacheMiss,
	streamedInputs: v.optional(v.record(v.string(), v.string())),
});

const about = {
	id: described(v.string(), 'The position in the history.'),
	runId: v.optional(described(v.string(), 'The run that the message belongs to.')),
	attachments: v.optional(v.array(shownAttachment)),
	turn: v.optional(described(turn, 'Only on an assistant message: the model’s turn.')),
	isCut: v.optional(described(v.boolean(), 'The content is cut. Get the message by its id to read all of it.')),
	isReplaced: v.optional(described(v.boolean(), 'An edit or a regeneration replaced this message. No model sees it.')),
	isInput: v.optional(described(v.boolean(), 'The message came with a request.')),
	createdAt: time,
};
const parts = v.optional(v.array(shownPart));

export const shownMessage = v.variant('role', [
	v.object({
		...about,
		role: v.literal('system'),
		content: v.string(),
		summary: v.optional(v.boolean()),
		skills: v.optional(v.array(v.string())),
	}),
	v.object({ ...about, role: v.literal('user'), content: v.string(), parts }),
	v.object({
		...about,
		role: v.literal('assistant'),
		content: v.string(),
		parts,
		toolCalls: v.optional(v.array(toolCall)),
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

/** Oldest first. */
export const waitingMessages = v.object({
	waiting: v.array(
		v.object({
			id: described(v.string(), 'The run that the message will start.'),
			content: v.string(),
			parts,
			attachments: about.attachments,
			steers: v.optional(described(v.literal(true), 'The current run takes it up before its next turn.')),
		}),
	),
});
