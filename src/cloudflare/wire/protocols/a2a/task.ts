import * as v from 'valibot';
import { message, metadata, parts } from './message.ts';

export const taskState = v.picklist([
	'TASK_STATE_SUBMITTED',
	'TASK_STATE_WORKING',
	'TASK_STATE_COMPLETED',
	'TASK_STATE_FAILED',
	'TASK_STATE_CANCELED',
	'TASK_STATE_INPUT_REQUIRED',
	'TASK_STATE_REJECTED',
	'TASK_STATE_AUTH_REQUIRED',
]);

export type TaskState = v.InferOutput<typeof taskState>;

const status = v.object({
	state: taskState,
	message: v.nullish(message),
	/** A time in ISO 8601. */
	timestamp: v.nullish(v.string()),
});

const artifact = v.object({
	artifactId: v.string(),
	name: v.nullish(v.string()),
	description: v.nullish(v.string()),
	parts,
	metadata,
});

export type Artifact = v.InferOutput<typeof artifact>;

/** A task of A2A. */
export const task = v.object({
	id: v.string(),
	contextId: v.nullish(v.string()),
	status,
	artifacts: v.nullish(v.array(artifact)),
	history: v.nullish(v.array(message)),
	metadata,
});

export type Task = v.InferOutput<typeof task>;

const about = { taskId: v.string(), contextId: v.string() };

/** An event of a stream, or the body of a push notification. It has exactly one of the fields. */
export const streamResponse = v.object({
	task: v.optional(task),
	message: v.optional(message),
	statusUpdate: v.optional(v.object({ ...about, status, metadata })),
	artifactUpdate: v.optional(
		v.object({ ...about, artifact, append: v.nullish(v.boolean()), lastChunk: v.nullish(v.boolean()), metadata }),
	),
});

export type StreamResponse = v.InferOutput<typeof streamResponse>;
