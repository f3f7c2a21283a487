import * as v from 'valibot';
import { providerCall, ranWith, source, toolCall } from './call.ts';
import { attachmentsField, content, shownAttachment, shownPart } from './content.ts';
import { maxId, shortText } from './limits.ts';
import { cacheMiss, usage } from './run.ts';

export const modelField = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

/** The error for a request that has both text and parts. */
export const bothGiven = 'give text or parts, not both';

/** A message to a session. */
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
					'The id of an earlier message of a person, whose place this one takes. Without a text that message is asked again. No model sees what stood behind it, and a run that goes on is stopped.',
				),
			),
		),
		whenBusy: v.optional(
			v.pipe(
				v.picklist(['queue', 'reject', 'steer']),
				v.description(
					'What happens to the message during a run: it waits for the end of the run (queue, the default), it is refused (reject), or the run takes it up (steer).',
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
			({ text, parts, attachments = [], replaces }) =>
				text !== undefined || parts !== undefined || attachments.length > 0 || replaces !== undefined,
			'missing. Give text, parts or attachments',
		),
		['text'],
	),
);

/** The answer to a tool's question. */
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
	iteration: v.pipe(v.number(), v.description('The number of the model’s turn in the run, from 1.')),
	model: v.string(),
	stopReason: v.string(),
	usage,
	cacheMiss,
	streamedInputs: v.optional(v.record(v.string(), v.string())),
});

const about = {
	id: v.pipe(v.string(), v.description('The position in the history.')),
	runId: v.optional(v.pipe(v.string(), v.description('The run that the message belongs to.'))),
	attachments: v.optional(v.array(shownAttachment)),
	turn: v.optional(v.pipe(turn, v.description('Only on an assistant message: the model’s turn.'))),
	isCut: v.optional(
		v.pipe(v.boolean(), v.description('The content is cut. Get the message by its id to read all of it.')),
	),
	isReplaced: v.optional(
		v.pipe(v.boolean(), v.description('An edit or a regeneration replaced this message. No model sees it.')),
	),
	isInput: v.optional(v.pipe(v.boolean(), v.description('The message came with a request.'))),
	createdAt: v.pipe(v.string(), v.isoTimestamp()),
};
const parts = v.optional(v.array(shownPart));

/** A message of the history. */
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
		content: v.pipe(v.unknown(), v.description('The result of the tool: any JSON.')),
		toolCallId: v.string(),
		isError: v.optional(v.boolean()),
		ranWith,
		parts,
	}),
]);

/** The messages that wait for a run, the oldest first. */
export const waitingMessages = v.object({
	waiting: v.array(
		v.object({
			id: v.pipe(v.string(), v.description('The run that the message will start.')),
			content: v.string(),
			parts,
			attachments: about.attachments,
			steers: v.optional(v.pipe(v.literal(true), v.description('The current run takes it up before its next turn.'))),
		}),
	),
});
