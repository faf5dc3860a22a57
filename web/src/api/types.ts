/** Short names of the documents of the API. */

import type { components } from './schema';

type Schemas = components['schemas'];

export type Job = Schemas['JobDocument'];
export type JobDetail = Schemas['JobDetailDocument'];
export type Stage = Schemas['StageDocument'];
export type Task = Schemas['TaskDocument'];
export type EventRecord = Schemas['EventDocument'];
export type LogLine = Schemas['LogDocument'];
export type Step = Schemas['StepDocument'];
export type StateRecord = Schemas['StateDocument'];
export type States = Schemas['StatesDocument'];
export type Worker = Schemas['WorkerDocument'];
export type Bulk = Schemas['BulkDocument'];
export type JobStatus = Schemas['JobStatus'];
export type TaskStatus = Schemas['TaskStatus'];
export type Scope = Schemas['Scope'];
export type Video = Schemas['VideoDocument'];
export type VideoDetail = Schemas['VideoDetailDocument'];
export type VideoVersion = Schemas['VersionDocument'];
export type Quality = Schemas['QualityDocument'];
export type Webhook = Schemas['WebhookDocument'];
export type Delivery = Schemas['DeliveryDocument'];
export type ApiKey = Schemas['KeyDocument'];
export type Pipeline = Schemas['PipelineDocument'];
export type Schedule = Schemas['ScheduleDocument'];
export type ScheduleDetail = Schemas['ScheduleDetailDocument'];
export type ScheduleRun = Schemas['RunDocument'];
export type Pause = Schemas['PauseDocument'];
export type Limit = Schemas['LimitDocument'];
export type LimitUse = Schemas['LimitUseDocument'];
export type Group = Schemas['GroupDocument'];
export type Setting = Schemas['SettingDocument'];
export type Machine = Schemas['MachineDocument'];

/** A page of a list; `after` asks for the next one. */
export interface Page<T> {
  items: T[];
  after: string | null;
}

/** The newest progress of a running task, as the live feed sends it. */
export interface Progress {
  kind: 'progress';
  id: string;
  job: number;
  stage: string;
  part: number;
  token: number;
  percent: number;
  message: string | null;
  step: string | null;
  at: string;
}

export type EventMessage = EventRecord & { kind: 'event' };
export type StateMessage = StateRecord & { kind: 'state'; cursor: string };
