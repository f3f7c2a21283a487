import * as v from 'valibot';
import { taskList } from '../../core/tool/tasks.ts';

/** The task lists of a session, in the order in which they were made. */
export const taskLists = v.object({ lists: v.array(taskList) });
