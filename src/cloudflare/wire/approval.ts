import * as v from 'valibot';
import { userName } from '../auth/rights.ts';
import { amount } from './budget.ts';
import { flow, labels } from './call.ts';
import { described, time } from './field.ts';
import { agentName, count, cursor, nextCursor, ownerOrAll, waitingCursor } from './page.ts';

const kind = v.picklist(['approval', 'question', 'result']);

/** A call that waits for somebody, in one of the owner's sessions. */
export const approval = v.object({
	sessionId: v.string(),
	agent: v.string(),
	owner: v.optional(described(v.string(), 'The owner. Present if the query has `owner`.')),
	user: v.optional(described(v.string(), 'The user of the session.')),
	title: v.optional(v.string()),
	callId: v.string(),
	kind: described(kind, 'The call waits for a permission, the answer to its question, or its result.'),
	tool: v.optional(v.string()),
	input: v.optional(described(v.unknown(), 'The exact arguments. Missing if they are too long.')),
	inputStart: v.optional(
		described(v.string(), 'The beginning of arguments that are too long, as JSON. The session has them whole.'),
	),
	question: v.optional(v.string()),
	options: v.optional(v.record(v.string(), v.unknown())),
	isCut: v.optional(
		described(
			v.literal(true),
			'Whether the question, its options or the preview are too long. The session has them whole.',
		),
	),
	flow: v.optional(described(flow, 'Why the call needs permission, if it would send something out.')),
	preview: v.optional(described(v.string(), 'What the call would do, as its tool says, such as a diff.')),
	labels: v.optional(described(labels, 'What had flowed into the session when it began to wait.')),
	spent: v.optional(described(amount, 'What the session had cost when it began to wait.')),
	since: described(time, 'When it began to wait.'),
	expiresAt: v.optional(described(time, 'Until when it can be approved, if the agent limits that.')),
});

export const approvalPage = v.object({ approvals: v.array(approval), cursor: nextCursor });

export const approvalQuery = v.object({
	cursor: v.optional(cursor(waitingCursor)),
	limit: v.optional(count(100), '20'),
	kind: v.optional(kind),
	agent: agentName,
	user: v.optional(described(userName, 'Only what waits in sessions of this user.')),
	owner: v.optional(ownerOrAll),
});
