//! Compiles every kernel of both default models at the paper's size with the first Vulkan driver, and runs nothing: what its
//! compiler made of them. Mesa's RADV does this for any AMD card without having it (RADV_FORCE_FAMILY=navi31), so
//! tests/gpu.sh can see registers that do not suffice.
#![allow(clippy::print_stdout)]

use ash::{Device, Entry, Instance, khr, vk};
use kuramoto_gpu::{DEFAULT_LIMITS, Launch, Plan, plan};
use kuramoto_model::{KuramotoConfig, ModelConfig, TransformerConfig};
use naga::back::spv;
use std::error::Error;
use std::ffi::CStr;

/// What a compiler says of a kernel.
type Statistics = Vec<(String, u64)>;

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: the handles below are made and used in this function alone, in the order that Vulkan wants, and the
    // process ends with them.
    unsafe {
        let entry = Entry::load()?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let instance =
            entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None)?;
        let Some(&physical) = instance.enumerate_physical_devices()?.first() else {
            return Err("there is no Vulkan driver".into());
        };
        let card = instance.get_physical_device_properties(physical);
        println!("{}", card.device_name_as_c_str()?.to_string_lossy());
        let device = open(&instance, physical)?;
        let properties = khr::pipeline_executable_properties::Device::new(&instance, &device);
        let kuramoto: ModelConfig = KuramotoConfig::default().into();
        let transformer: ModelConfig = TransformerConfig::default().into();
        for model in [kuramoto, transformer] {
            let (_, plan) = plan(&model, 64, 256, &DEFAULT_LIMITS)?;
            for (index, kernel) in plan.kernels.iter().enumerate() {
                let launches = plan.step().chain(&plan.losses).find(|launch| launch.kernel == index);
                let Some(launch) = launches else { continue };
                let code = spirv(&kernel.source, &kernel.entry)?;
                let statistics = compile(&device, &properties, &code, &kernel.entry, &plan, launch)?;
                let numbers: Vec<String> =
                    statistics.iter().map(|(name, value)| format!("{name} {value}")).collect();
                println!("{} {}: {}", model.kind().name(), launch.name, numbers.join(", "));
            }
        }
    }
    Ok(())
}

/// The device with its properties of compiled pipelines.
unsafe fn open(instance: &Instance, physical: vk::PhysicalDevice) -> Result<Device, vk::Result> {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let extensions = [khr::pipeline_executable_properties::NAME.as_ptr()];
    let mut properties =
        vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
    let mut model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(true);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut properties)
        .push_next(&mut model);
    // SAFETY: all that the request points to lives until the call returns.
    unsafe { instance.create_device(physical, &info, None) }
}

/// As wgpu translates it for an engine.
fn spirv(source: &str, entry: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    let module = naga::front::wgsl::parse_str(source)?;
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::default(),
    );
    let info = validator.validate(&module)?;
    let options = spv::Options {
        lang_version: (1, 3),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        ..Default::default()
    };
    let of = spv::PipelineOptions { shader_stage: naga::ShaderStage::Compute, entry_point: entry.into() };
    Ok(spv::write_vec(&module, &info, &options, Some(&of))?)
}

unsafe fn compile(
    device: &Device,
    properties: &khr::pipeline_executable_properties::Device,
    code: &[u32],
    entry: &str,
    plan: &Plan,
    launch: &Launch,
) -> Result<Statistics, Box<dyn Error>> {
    let bindings: Vec<_> = launch
        .bindings
        .iter()
        .map(|(number, part)| {
            let kind = match plan.buffers[part.buffer].uniform {
                true => vk::DescriptorType::UNIFORM_BUFFER,
                false => vk::DescriptorType::STORAGE_BUFFER,
            };
            vk::DescriptorSetLayoutBinding::default()
                .binding(*number)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        })
        .collect();
    let name = std::ffi::CString::new(entry)?;
    // SAFETY: see `main`; all that a request points to lives until its call returns.
    unsafe {
        let sets = [device.create_descriptor_set_layout(
            &vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings),
            None,
        )?];
        let layout = device
            .create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)?;
        let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(code), None)?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&name);
        let info = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
            .stage(stage)
            .layout(layout);
        let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        let pipeline = made.map_err(|(_, error)| error)?[0];
        let executable = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
        let statistics = properties.get_pipeline_executable_statistics(&executable)?;
        Ok(statistics.iter().map(statistic).collect())
    }
}

fn statistic(statistic: &vk::PipelineExecutableStatisticKHR<'_>) -> (String, u64) {
    // SAFETY: the name ends with a zero, and every format but one is an integer of 64 bits.
    let (name, value) = unsafe { (CStr::from_ptr(statistic.name.as_ptr()), statistic.value.u64) };
    (name.to_string_lossy().into_owned(), value)
}
