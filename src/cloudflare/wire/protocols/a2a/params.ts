import * as v from 'valibot';
import { shortText } from '../../limits.ts';
import { message, metadata, optionalId } from './message.ts';
import { taskState } from './task.ts';

const id = v.pipe(shortText(200), v.nonEmpty('must not be empty'));
const historyLength = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0)));
const pageSize = v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)));
const pageToken = v.nullish(shortText(1_000));

/** Where the updates of a task are posted. */
export const pushConfig = v.object({
	id: optionalId,
	taskId: optionalId,
	url: v.pipe(shortText(2_048), v.nonEmpty('must not be empty')),
	token: v.nullish(shortText(2_000)),
	authentication: v.nullish(v.object({ scheme: shortText(100), credentials: v.nullish(shortText(4_000)) })),
});

export type PushConfig = v.InferOutput<typeof pushConfig>;

export const sendParams = v.object({
	message,
	configuration: v.nullish(
		v.object({
			acceptedOutputModes: v.nullish(v.pipe(v.array(shortText(255)), v.maxLength(100))),
			taskPushNotificationConfig: v.nullish(pushConfig),
			historyLength,
			returnImmediately: v.nullish(v.boolean()),
		}),
	),
	metadata,
});

export const taskParams = v.object({ id, historyLength });

export const listParams = v.object({
	contextId: optionalId,
	status: v.nullish(v.union([taskState, v.literal('TASK_STATE_UNSPECIFIED')])),
	pageSize,
	pageToken,
	historyLength,
	statusTimestampAfter: v.nullish(
		v.pipe(
			shortText(100),
			v.check((text) => /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text)), 'must be a time in ISO 8601'),
		),
	),
	includeArtifacts: v.nullish(v.boolean()),
});

export const newPushParams = v.object({ ...pushConfig.entries, taskId: id });
export const pushParams = v.object({ taskId: id, id });
export const pushListParams = v.object({ taskId: id, pageSize: v.nullish(v.number()), pageToken });
